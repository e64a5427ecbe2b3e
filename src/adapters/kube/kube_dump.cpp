#include "adapters/kube/kube_dump.hpp"

#include <vector>

#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {

Result<ClusterDump> read_cluster_dump(HttpClient& http) {
    std::vector<SeenNode> nodes;
    // Nodes are read before pods, so that each pod's node is known, unless the node left in
    // between.
    TRY_VOID(each_item(http, "/api/v1/nodes", "list nodes", [&](JsonValue json) {
        nodes.push_back({read_node(json), read_node_traits(json).closed});
    }));
    std::vector<SeenPod> pods;
    TRY_VOID(each_item(http, "/api/v1/pods", "list pods", [&](JsonValue json) {
        const defrag::NodeRules rules = read_pod_state(json).nodes;
        pods.push_back({read_pod(json), json["metadata"]["deletionTimestamp"].text_or(""),
                        rules.has_affinity || !rules.selector.empty()});
    }));
    return dump_of(nodes, pods);
}

}  // namespace tessera
