// The parts of Kubernetes objects that Tessera reads, and the few that it writes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "wire/allocation_seal.hpp"
#include "wire/json.hpp"

namespace tessera {

using Annotations = std::map<std::string, std::string, std::less<>>;

// A v1.Pod. Never fails: a pod whose GPU request or allocation makes no sense carries the error,
// and so does one whose allocation the seal has not signed. Without a seal anybody's allocation
// counts.
PodFacts read_pod(JsonValue pod, const AllocationSeal* seal = nullptr);

// Whether a v1.Pod states where it would rather run (preferred affinities, a soft topology spread),
// beyond where it must.
bool has_preferences(JsonValue pod);

// A v1.Node: from the agent's annotation, else from the sums that gpushare's device plugin
// publishes (docs/research/gpushare.md §1.1), else a node without cards. An annotation that cannot
// be read gives a node without cards whose `fault` says why.
NodeInventory read_node(JsonValue node);

// One event of a watch, or what a list says of itself.
struct WatchEvent {
    enum class Kind { added, modified, deleted, bookmark, error };
    Kind kind = Kind::bookmark;
    JsonValue object;
    std::string resource_version;
    Error error;  // for Kind::error; Code::expired when the position is too old
};
Result<WatchEvent> read_watch_event(const JsonDocument& document);

struct ListPage {
    std::vector<JsonValue> items;
    std::string resource_version;
    std::string next;  // the continue token; empty on the last page
};
Result<ListPage> read_list(const JsonDocument& document);

// The message of a v1.Status, or the start of `body` when it is none.
std::string status_message(std::string_view body);

// A v1.Binding whose annotations the API server merges into the pod in the transaction that binds
// it.
std::string write_binding(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const Annotations& annotations);

// A merge patch of annotations; an empty value removes the key.
std::string write_annotations_patch(const Annotations& annotations);
// The same, which the API server carries out only on the object of that uid, and in that very
// version unless it is empty (409 otherwise).
std::string write_annotations_patch(const PodUid& uid, std::string_view resource_version,
                                    const Annotations& annotations);
// A merge patch of a node's status: resource name → amount, for capacity and allocatable both.
std::string write_capacity_patch(const Annotations& amounts);

}  // namespace tessera
