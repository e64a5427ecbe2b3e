#include "adapters/kube/kube_snapshot.hpp"

#include <vector>

#include "adapters/kube/kube_pages.hpp"
#include "wire/defrag_json.hpp"
#include "wire/kube_objects.hpp"

namespace tessera {

Result<ClusterSnapshot> read_cluster_snapshot(const HttpEndpoint& endpoint) {
    HttpClient http(endpoint);
    std::vector<SeenNode> nodes;
    // Before the pods: each pod's node is there then, unless it left in between.
    TRY_VOID(each_item(http, "/api/v1/nodes", "list nodes", [&](JsonValue json) {
        nodes.push_back({read_node(json), read_node_traits(json).closed});
    }));
    std::vector<SeenPod> pods;
    TRY_VOID(each_item(http, "/api/v1/pods", "list pods", [&](JsonValue json) {
        const defrag::NodeRules rules = read_pod_state(json).nodes;
        pods.push_back({read_pod(json), json["metadata"]["deletionTimestamp"].text_or(""),
                        rules.has_affinity || !rules.selector.empty()});
    }));
    return snapshot_of(nodes, pods);
}

}  // namespace tessera
