#include "adapters/kube/kube_dump.hpp"

#include <utility>
#include <vector>

#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {

Result<ClusterDump> read_cluster_dump(HttpClient& http) {
    std::vector<SeenNode> nodes;
    std::vector<SeenPod> pods;
    const auto add_node = [&](JsonValue json) {
        NodeInventory node = read_node(json);
        const bool is_closed = node.traits->closed;
        nodes.push_back({std::move(node), is_closed});
    };
    const auto add_pod = [&](JsonValue json) {
        const NodeRules rules = read_pod_state(json).nodes;
        pods.push_back({read_pod(json), json["metadata"]["deletionTimestamp"].text_or(""),
                        rules.has_affinity || !rules.selector.empty()});
    };
    TRY_VOID(each_node_and_pod(http, add_node, add_pod));
    return dump_of(nodes, pods);
}

}  // namespace tessera
