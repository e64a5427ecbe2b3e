// The nodes on which a pod may run: by its node selector, its required node affinity, and the
// taints that it tolerates, as kube-scheduler reads them (plugins NodeAffinity, TaintToleration).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace tessera::defrag {

using Labels = std::map<std::string, std::string, std::less<>>;

// One term of a label selector.
struct LabelTerm {
    enum class Kind {
        in,
        not_in,
        exists,
        absent,
        greater,
        less
    };  // the last two: of node affinity
    Kind kind = Kind::in;
    std::string key;
    std::vector<std::string> values;  // one for greater and less, none for exists and absent

    friend auto operator<=>(const LabelTerm&, const LabelTerm&) = default;
};
using LabelTerms = std::vector<LabelTerm>;  // all of them must match

// True if there are no terms.
bool match(const LabelTerms& terms, const Labels& labels);

// The key of a node's name among its labels, for matchFields. It is not a valid label key.
inline constexpr std::string_view kNameField = "field:metadata.name";

struct Taint {
    std::string key;
    std::string value;
    std::string effect;
};

struct NodeTraits {
    NodeName name;
    Labels labels;  // with kNameField
    std::vector<Taint> taints;
    bool closed = false;  // spec.unschedulable
};

struct Toleration {
    std::string key;  // empty: every key
    bool exists = false;
    std::string value;
    std::string effect;  // empty: every effect

    friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

struct NodeRules {
    LabelTerms selector;
    bool has_affinity = false;
    std::vector<LabelTerms> affinity;  // one of them must match; one without terms never does
    std::vector<Toleration> tolerations;

    friend auto operator<=>(const NodeRules&, const NodeRules&) = default;
};

// Whether the selector and the affinity allow the node, whatever its taints are.
bool selects(const NodeRules& rules, const NodeTraits& node);
// Ignores a cordon (`closed`).
bool may_run(const NodeRules& rules, const NodeTraits& node);

}  // namespace tessera::defrag
