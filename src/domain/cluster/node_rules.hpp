// The nodes on which a pod may run: by its node selector, its required node affinity, and the
// taints that it tolerates, as kube-scheduler reads them (plugins NodeAffinity, TaintToleration).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace tessera {

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

    friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeTraits {
    NodeName name;
    Labels labels;  // with kNameField
    std::vector<Taint> taints;
    bool closed = false;         // spec.unschedulable
    std::int64_t most_pods = 0;  // status.allocatable.pods; 0: unknown

    friend bool operator==(const NodeTraits&, const NodeTraits&) = default;
};

// Traits that the many copies of a node share. Never null. Equal if the traits are.
class SharedNodeTraits {
  public:
    SharedNodeTraits() : traits_(none()) {}
    explicit SharedNodeTraits(NodeTraits traits)
        : traits_(std::make_shared<const NodeTraits>(std::move(traits))) {}

    const NodeTraits& operator*() const { return *traits_; }
    const NodeTraits* operator->() const { return traits_.get(); }

    friend bool operator==(const SharedNodeTraits& a, const SharedNodeTraits& b) {
        return a.traits_ == b.traits_ || *a.traits_ == *b.traits_;
    }

  private:
    static const std::shared_ptr<const NodeTraits>& none() {
        static const auto traits = std::make_shared<const NodeTraits>();
        return traits;
    }

    std::shared_ptr<const NodeTraits> traits_;
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

}  // namespace tessera
