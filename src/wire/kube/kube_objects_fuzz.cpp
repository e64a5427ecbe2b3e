#include "domain/defrag/cluster_objects.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/eviction_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/kube/pod_group_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

// Plans moves with the pod on its node, next to another node with the same GPUs. Whatever the text
// says, only the pod itself moves, at most once.
void plan_moves(const JsonDocument& document, const PodInfo& pod, const NodeInventory& node) {
    defrag::ClusterObjects cluster{
        .nodes = {node, node},
        .traits = {read_node_traits(document.root()), {.name = NodeName("another")}},
        .pods = {pod},
        .states = {read_pod_state(document.root())},
        .budgets = {read_budget(document.root())}};
    cluster.nodes.back().name = NodeName("another");
    const auto best_fit = [](const PodRequest&) { return nullptr; };
    (void)defrag::stays_of(cluster, best_fit);
    (void)defrag::find_waiting(cluster, pod.name);
    cluster.budgets.clear();
    cluster.states.front().allowed = true;
    const auto found =
        defrag::make_plan(defrag::cluster_of(cluster, best_fit), defrag::FreeGpus{1});
    const auto* plan = std::get_if<defrag::Plan>(&found);
    FUZZ_CHECK(plan == nullptr || plan->moves.size() == 1);
    FUZZ_CHECK(plan == nullptr || plan->moves.front().uid == pod.uid);
    FUZZ_CHECK(plan == nullptr || plan->after.free_gpus > plan->before.free_gpus);
}

}  // namespace
}  // namespace tessera

// Reads one text as pod, node, watch event, list and refusal, and puts the result into a cluster. A
// reservation must not give a GPU more than it has.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    FUZZ_CHECK(status_message(fuzz_text(data, size)).size() <= size + 200);
    FUZZ_CHECK(!is_of_a_budget(fuzz_text(data, size)) || document);
    (void)eviction_refusal(fuzz_text(data, size));
    if (!document) return 0;
    (void)read_watch_event(*document);
    (void)read_list(*document);
    FUZZ_CHECK(read_pod_group(document->root()).min_count >= 0);
    const PodInfo pod = read_pod(document->root());
    NodeInventory node = read_node(document->root());
    // Only a GPU that is not offered may have an unknown size.
    for (const Gpu& gpu : node.gpus)
        FUZZ_CHECK(gpu.capacity() >= Bytes{gpu.usable() ? 1 : 0});
    plan_moves(*document, pod, node);
    ClusterState state;
    state.set_node(node);
    state.set_pod(pod);
    auto request = request_of(pod);
    if (request && !request->containers.empty()) {
        request->uid = PodUid("new");
        const auto made = state.reserve(*request, node.name);
        const auto snapshot = state.snapshot();
        for (const auto& seen : snapshot->nodes()) {
            for (const GpuState& gpu : seen->gpus)
                FUZZ_CHECK(!made || pod.uid == PodUid("new") || gpu.allocated <= gpu.capacity ||
                           seen->assigned_pods.size() > 1);
        }
    }
    state.remove_pod(pod.uid);
    state.remove_pod(PodUid("new"));
    for (const auto& seen : state.snapshot()->nodes()) {
        for (const GpuState& gpu : seen->gpus)
            FUZZ_CHECK(gpu.allocated == Bytes{} && gpu.pods == 0);
    }
    return 0;
}
