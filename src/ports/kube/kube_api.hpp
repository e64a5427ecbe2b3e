// What Tessera needs of the Kubernetes API server, in domain types. Any thread may call; every call
// ends by its own deadline.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/string_map.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/container_start/container_setup.hpp"

namespace tessera {

// One batch of a watch. `upserted` has the final state of each object, `deleted` the objects that
// were deleted. An object in both was deleted and created again. `listed` is set after a list:
// every other object is gone. An empty batch says that the watch is alive.
struct NodeChanges {
    std::vector<NodeInventory> upserted;
    std::vector<NodeName> deleted;
    std::optional<std::set<NodeName>> listed;
};
struct PodChanges {
    std::vector<PodInfo> upserted;
    std::vector<PodUid> deleted;
    std::optional<std::set<PodUid>> listed;
};

// A pod of a node, with what decides whether its containers can get their shares.
struct NodePod {
    PodInfo info;
    std::vector<ContainerSetup> setups;  // of all its containers, init containers included
};

// What a Node is to show. An annotation or label with an empty value is to be missing.
struct NodeWanted {
    StringMap annotations;
    StringMap labels;
    StringMap amounts;  // capacities, by resource
};

struct NodeShown {
    bool matches = false;
    StringMap labels;
    std::string report = {};   // the annotation tessera.dev/gpus; empty if it has none
    std::string runtime = {};  // status.nodeInfo.containerRuntimeVersion: "containerd://2.1.4"
};

class KubeApi {
  public:
    virtual ~KubeApi() = default;

    // Lists and then watches without end: it reconnects, resumes after bookmarks, and lists again
    // when the position is too old. Blocks until `stop`. Calls `sink` from this thread, in order.
    // Calls `on_error` with each failure that made it start over.
    using ErrorSink = std::function<void(const Error&)>;
    virtual void follow_nodes(const std::function<void(NodeChanges)>& sink,
                              const ErrorSink& on_error, std::stop_token stop) = 0;
    virtual void follow_pods(const std::function<void(PodChanges)>& sink, const ErrorSink& on_error,
                             std::stop_token stop) = 0;

    // One write: binds the pod and merges the annotations into it. conflict: the pod is bound
    // already or has another uid. not_found: it is gone. unavailable: the outcome is unknown, the
    // write may have happened. The write takes effect within kBindTakes of the call, or never.
    static constexpr std::chrono::milliseconds kBindTakes{5'000};
    virtual Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const StringMap& annotations) = 0;
    // Reads from the API server itself, without a cache. not_found if the pod is gone.
    virtual Result<PodInfo> get_pod(const PodName& pod) = 0;
    virtual Result<std::vector<NodeInventory>> list_nodes() = 0;
    // All pods, or those of one node.
    virtual Result<std::vector<PodInfo>> list_pods(const NodeName& node = {}) = 0;
    virtual Result<std::vector<NodePod>> list_node_pods(const NodeName& node) = 0;

    // Whether the node already shows all this; also its labels and its report.
    virtual Result<NodeShown> node_shows(const NodeName& node, const NodeWanted& wanted) = 0;
    // An empty value removes the annotation or label.
    virtual Result<> set_node_metadata(const NodeName& node, const StringMap& annotations,
                                       const StringMap& labels) = 0;
    // Sets capacity and allocatable of resources that no device plugin counts.
    virtual Result<> set_node_resources(const NodeName& node, const StringMap& amounts) = 0;
};

}  // namespace tessera
