// The scheduler extender protocol: what kube-scheduler posts and what it expects back. The JSON
// keys are the Go field names (docs/research/gpushare.md §2.2). Older schedulers sent lower-case
// keys, so case is ignored in requests. Answers have gpushare's key order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/dialect/dialect.hpp"
#include "domain/placement/unschedulable_reason.hpp"

namespace tessera {

// ExtenderArgs. Views point into the parsed body and into the parser of the calling thread. They
// are valid until that thread reads the next arguments or, if `parser` is set, as long as `parser`.
struct ExtenderArgs {
    PodInfo pod;
    bool has_preferences = false;         // on where to run (node_rules_json.hpp)
    bool reads_all = false;               // never true for a request: reasons may name any pod
    bool full_objects = false;            // nodes came as objects: answer with the same objects
    std::vector<std::string_view> names;  // in the order of the request
    std::vector<std::string_view> words;  // parallel to names: as JSON strings, with quotes
    std::vector<std::string_view> raws;   // parallel to names if full_objects: object text
    std::shared_ptr<const void> parser;   // keeps what the views of a huge request point into
};

// Errors are invalid_argument, with gpushare's texts where it has one. `body` must outlive the
// result. This function pads it, hence the reference.
Result<ExtenderArgs> read_extender_args(std::string& body,
                                        const Dialects& dialects = all_dialects());

// Why the pod cannot run on a node.
struct Refusal {
    std::size_t node = 0;  // position in ExtenderArgs::names
    std::string reason;

    friend bool operator==(const Refusal&, const Refusal&) = default;
};

// No node is in two lists; a node that fits but is not offered is in none. Each list has the order
// of ExtenderArgs::names.
struct FilterAnswer {
    std::vector<std::size_t> fitting;   // positions in ExtenderArgs::names
    std::vector<Refusal> failed;        // may fit once a pod ends
    std::vector<Refusal> unresolvable;  // can never fit
    // Not written into the answer: of all refusals' reasons, the one that is the closest to going
    // away.
    std::optional<UnschedulableReason> reason;
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
