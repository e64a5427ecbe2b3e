// The parts of Kubernetes objects that Tessera reads, and the few that it writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/string_map.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/dialect/dialect.hpp"
#include "wire/tessera/allocation_seal.hpp"
#include "wire/text/json.hpp"

namespace tessera {

using Annotations = StringMap;

// A v1.Pod. Never fails: a pod with an invalid GPU request or allocation contains the error, and so
// does a pod whose allocation the seal has not signed. Without a seal every allocation is accepted.
PodInfo read_pod(JsonValue pod, const AllocationSeal* seal = nullptr,
                 const Dialects& dialects = all_dialects());

// A pod, or the template of pods of another object, as read_pod() will read it when the admission
// webhook has added the limits that its containers lack (Dialect::missing_limit).
PodInfo read_defaulted_pod(JsonValue pod, const Dialects& dialects);

// A v1.Node: from the agent's annotation, otherwise from the sums that a former system's device
// plugin publishes (Dialect::read_former_node), otherwise a node without GPUs. An unreadable
// annotation gives a node without GPUs whose `fault` says why.
NodeInventory read_node(JsonValue node, const Dialects& dialects = all_dialects());

// One event of a watch, or the metadata of a list.
struct WatchEvent {
    enum class Kind { added, modified, deleted, bookmark, error };
    Kind kind = Kind::bookmark;
    JsonValue object;
    std::string resource_version;
    Error error;  // for Kind::error; Code::expired if the resource version is too old
};
Result<WatchEvent> read_watch_event(const JsonDocument& document);

struct ListPage {
    std::vector<JsonValue> items;
    std::string resource_version;
    std::string next;  // the continue token; empty on the last page
};
Result<ListPage> read_list(const JsonDocument& document);

// The message of a v1.Status, or the start of `body` if it is not a Status.
std::string status_message(std::string_view body);

// A v1.Binding with annotations, which the API server merges into the pod in the transaction that
// binds it.
std::string write_binding(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const Annotations& annotations);

// A merge patch of annotations; an empty value removes the key.
std::string write_annotations_patch(const Annotations& annotations);
// A merge patch of annotations and labels; an empty value removes the key.
std::string write_metadata_patch(const Annotations& annotations, const StringMap& labels);
// As write_annotations_patch, for the object with this uid only and, unless `resource_version` is
// empty, for this version only; otherwise the API server answers 409.
std::string write_annotations_patch(const PodUid& uid, std::string_view resource_version,
                                    const Annotations& annotations);
// A merge patch of a node's status: resource name → amount, for both capacity and allocatable.
std::string write_capacity_patch(const Annotations& amounts);
// A JSON patch (RFC 6902) of a Node that removes every taint with the key `removed`. `keys` are the
// keys of all its taints, in order. If the taints have changed since, a test of the patch fails,
// and the API server changes nothing (422).
std::string write_taint_removal(const std::vector<std::string>& keys, std::string_view removed);

}  // namespace tessera
