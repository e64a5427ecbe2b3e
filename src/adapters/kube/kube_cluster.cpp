#include "adapters/kube/kube_cluster.hpp"

#include <utility>

#include "adapters/kube/kube_pages.hpp"
#include "wire/defrag_json.hpp"
#include "wire/kube_objects.hpp"

namespace tessera {

Result<defrag::Snapshot> read_cluster(HttpClient& http) {
    defrag::Snapshot out;
    TRY_VOID(each_item(http, "/api/v1/nodes", "list nodes", [&](JsonValue json) {
        out.nodes.push_back(read_node(json));
        out.traits.push_back(read_node_traits(json));
    }));
    TRY_VOID(each_item(http, "/api/v1/pods", "list pods", [&](JsonValue json) {
        PodFacts pod = read_pod(json);
        if (!asks_for_gpus(pod)) {
            if (!pod.finished) out.others.push_back(std::move(pod));
            return;
        }
        out.pods.push_back(std::move(pod));
        out.states.push_back(read_pod_state(json));
    }));
    return out;
}

}  // namespace tessera
