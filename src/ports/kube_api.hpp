// What Tessera asks of the Kubernetes API server, in domain types. Every call may be made by any
// thread and ends by its own deadline.
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
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/handover/container_setup.hpp"

namespace tessera {

// One batch of what a watch showed; what is present in the end, and what was removed before or for
// good. `all` is set after a list: everything else is gone. An empty batch says that the watch
// lives.
struct NodeChanges {
    std::vector<NodeInventory> present;
    std::vector<NodeName> removed;
    std::optional<std::set<NodeName>> all;
};
struct PodChanges {
    std::vector<PodFacts> present;
    std::vector<PodUid> removed;
    std::optional<std::set<PodUid>> all;
};

using StringMap = std::map<std::string, std::string, std::less<>>;

// A pod of one node, with what decides on whether its containers can get their shares.
struct NodePod {
    PodFacts facts;
    std::vector<ContainerSetup> setups;  // of all its containers, init containers too
};

struct NodeShown {
    bool matches = false;
    StringMap labels;
    std::string report = {};  // the annotation tessera.dev/gpus; empty where it has none
};

class KubeApi {
  public:
    virtual ~KubeApi() = default;

    // Lists, then watches, for ever: reconnects, resumes after bookmarks, lists again when the
    // position is too old. Blocks until `stop`; calls `sink` from this thread, in order. `trouble`
    // is called with each failure that made it start over.
    using Trouble = std::function<void(const Error&)>;
    virtual void follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                              std::stop_token stop) = 0;
    virtual void follow_pods(const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                             std::stop_token stop) = 0;

    // One write: binds the pod and merges the annotations into it. conflict: it is bound already or
    // has another uid; not_found: it is gone; unavailable: the answer is unknown, the write may
    // have happened. It takes effect within kBindTakes of the call, or never.
    static constexpr std::chrono::milliseconds kBindTakes{5'000};
    virtual Result<> bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const StringMap& annotations) = 0;
    // Read from the API server itself, no cache. not_found when it is gone.
    virtual Result<PodFacts> get_pod(const PodName& pod) = 0;
    virtual Result<std::vector<NodeInventory>> list_nodes() = 0;
    // All pods, or those of one node.
    virtual Result<std::vector<PodFacts>> list_pods(const NodeName& node = {}) = 0;
    virtual Result<std::vector<NodePod>> list_node_pods(const NodeName& node) = 0;

    // Whether the node shows these annotations and these capacities already, its labels and
    // its report.
    virtual Result<NodeShown> node_shows(const NodeName& node, const StringMap& annotations,
                                         const StringMap& amounts) = 0;
    virtual Result<> annotate_node(const NodeName& node, const StringMap& annotations) = 0;
    // Capacity and allocatable of resources that no device plugin counts.
    virtual Result<> set_node_resources(const NodeName& node, const StringMap& amounts) = 0;
};

}  // namespace tessera
