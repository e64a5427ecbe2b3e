#include "domain/cluster/state.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/eviction_json.hpp"
#include "wire/json.hpp"
#include "wire/kube_objects.hpp"

// One text read as pod, node, watch event, list and refusal; what it says is put into a cluster,
// whose cards must not take in more than they have from a reservation.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto document = JsonDocument::parse(fuzz_text(data, size));
    FUZZ_CHECK(status_message(fuzz_text(data, size)).size() <= size + 200);
    FUZZ_CHECK(!is_of_a_budget(fuzz_text(data, size)) || document);
    if (!document) return 0;
    (void)read_watch_event(*document);
    (void)read_list(*document);
    const PodFacts pod = read_pod(document->root());
    NodeInventory node = read_node(document->root());
    for (const Gpu& gpu : node.gpus)
        FUZZ_CHECK(gpu.capacity() > Bytes{});
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
