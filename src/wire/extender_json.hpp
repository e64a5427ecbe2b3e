// The scheduler extender protocol: what kube-scheduler posts and what it expects back. The wire
// keys are the Go field names (docs/research/gpushare.md §2.2); older schedulers sent lower-case
// ones, so case does not matter on the way in, and answers have gpushare's key order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/placement/obstacle.hpp"

namespace tessera {

// ExtenderArgs. Views point into the body that was parsed and into the parser of the calling
// thread: they are good until that thread reads the next ones, or with `parser` as long as it.
struct ExtenderArgs {
    PodFacts pod;
    bool has_preferences = false;         // of where to run (kube_objects.hpp)
    bool reads_all = false;               // never of a request: reasons may name any pod
    bool full_objects = false;            // the nodes came as objects: answer with the same ones
    std::vector<std::string_view> names;  // in the order of the request
    std::vector<std::string_view> words;  // parallel: the names as JSON strings, quotes included
    std::vector<std::string_view> raws;   // parallel to names when full_objects: the objects' text
    std::shared_ptr<const void> parser;   // keeps alive what the views of a huge request point into
};

// Errors are invalid_argument with gpushare's texts where it has one. `body` must outlive the
// result and is padded by this function (hence by reference).
Result<ExtenderArgs> read_extender_args(std::string& body);

// Why the pod cannot go to a node.
struct Refusal {
    std::size_t node = 0;  // position in ExtenderArgs::names
    std::string reason;

    friend bool operator==(const Refusal&, const Refusal&) = default;
};

// No node is in two lists, and one that fits but is not offered is in none; each list is in the
// order of ExtenderArgs::names.
struct FilterAnswer {
    std::vector<std::size_t> fitting;   // positions in ExtenderArgs::names
    std::vector<Refusal> failed;        // may fit once something ends
    std::vector<Refusal> unresolvable;  // can never fit
    // Not written: the one of all refusals that is nearest to its end.
    std::optional<Obstacle> obstacle;
};
// Reasons are sorted by node, each node once.
std::string write_filter_result(const ExtenderArgs& args, const FilterAnswer& answer);
std::string write_filter_error(std::string_view text);

// HostPriorityList. `scores` is parallel to args.names, 0 to 10.
std::string write_priorities(const ExtenderArgs& args, const std::vector<int>& scores);

struct BindArgs {
    PodName pod;
    PodUid uid;
    NodeName node;
};
Result<BindArgs> read_bind_args(std::string_view body);
// An empty text is success.
std::string write_bind_result(std::string_view error);

}  // namespace tessera
