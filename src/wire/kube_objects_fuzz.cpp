#include "domain/cluster/state.hpp"
#include "domain/defrag/snapshot.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/defrag_json.hpp"
#include "wire/eviction_json.hpp"
#include "wire/json.hpp"
#include "wire/kube_objects.hpp"
#include "wire/pod_group_json.hpp"

namespace tessera {
namespace {

// The pod on its node, beside another node of the same cards; whatever the text says, who moves is
// the pod itself, once.
void plan_moves(const JsonDocument& document, const PodFacts& pod, const NodeInventory& node) {
    defrag::Snapshot cluster{
        .nodes = {node, node},
        .traits = {read_node_traits(document.root()), {.name = NodeName("another")}},
        .pods = {pod},
        .states = {read_pod_state(document.root())},
        .budgets = {read_budget(document.root())}};
    cluster.nodes.back().name = NodeName("another");
    const auto best_fit = [](const PodAsk&) { return nullptr; };
    (void)defrag::stays_of(cluster, best_fit);
    (void)defrag::find_waiting(cluster, pod.name);
    cluster.budgets.clear();
    cluster.states.front().allowed = true;
    const auto found =
        defrag::make_plan(defrag::cluster_of(cluster, best_fit), defrag::FreeCards{1});
    const auto* plan = std::get_if<defrag::Plan>(&found);
    FUZZ_CHECK(plan == nullptr || plan->moves.size() == 1);
    FUZZ_CHECK(plan == nullptr || plan->moves.front().uid == pod.uid);
    FUZZ_CHECK(plan == nullptr || plan->after.free_cards > plan->before.free_cards);
}

}  // namespace
}  // namespace tessera

// One text read as pod, node, watch event, list and refusal; what it says is put into a cluster,
// whose cards must not take in more than they have from a reservation.
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
    const PodFacts pod = read_pod(document->root());
    NodeInventory node = read_node(document->root());
    for (const Gpu& gpu : node.gpus)
        FUZZ_CHECK(gpu.capacity() > Bytes{});
    plan_moves(*document, pod, node);
    ClusterState state;
    state.set_node(node);
    state.set_pod(pod);
    auto ask = ask_of(pod);
    if (ask && !ask->request.empty()) {
        ask->uid = PodUid("new");
        const auto made = state.reserve(*ask, node.name);
        const auto view = state.view();
        for (const auto& seen : view->nodes()) {
            for (const Card& card : seen->cards)
                FUZZ_CHECK(!made || pod.uid == PodUid("new") || card.held <= card.capacity ||
                           seen->tenants.size() > 1);
        }
    }
    state.remove_pod(pod.uid);
    state.remove_pod(PodUid("new"));
    for (const auto& seen : state.view()->nodes()) {
        for (const Card& card : seen->cards)
            FUZZ_CHECK(card.held == Bytes{} && card.holders == 0);
    }
    return 0;
}
