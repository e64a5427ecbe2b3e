#include "guard/process/graphs.hpp"

#include "guard/process/locked.hpp"

namespace tessera::guard {
namespace {

PoolRequest request_of(int card, Granules granules) {
    return {graph_pool(card), card, nullptr, nullptr, granules * kGranuleBytes};
}

}  // namespace

bool Graphs::note(CUgraphExec exec, const GraphNeeds& needs) {
    const Locked lock(mutex_);
    have_memory_.store(true, std::memory_order_relaxed);
    return all_.add({exec, needs, nullptr, false, {}});
}

ExecutableGraph Graphs::take(CUgraphExec exec) {
    const Locked lock(mutex_);
    return all_.take(reinterpret_cast<std::uint64_t>(exec));
}

void Graphs::put_back(const ExecutableGraph& graph) {
    const Locked lock(mutex_);
    all_.add(graph);  // there is room: it has just been taken out
}

GraphNeeds Graphs::growth(CUgraphExec exec, CUstream stream) {
    const Locked lock(mutex_);
    const ExecutableGraph* found = all_.find(reinterpret_cast<std::uint64_t>(exec));
    if (found == nullptr) return {};
    GraphNeeds growth = found->needs;
    if (!found->has_been_launched || found->stream != stream) return growth;
    for (int card = 0; card < kMaxCards; card++) {
        if (growth.of[card] != 0 && shrinks_of(graph_pool(card)) == found->shrinks[card])
            growth.of[card] = 0;
    }
    return growth;
}

void Graphs::note_launch(CUgraphExec exec, CUstream stream) {
    const Locked lock(mutex_);
    ExecutableGraph* found = all_.find(reinterpret_cast<std::uint64_t>(exec));
    if (found == nullptr) return;
    found->stream = stream;
    found->has_been_launched = true;
    for (int card = 0; card < kMaxCards; card++)
        if (found->needs.of[card] != 0) found->shrinks[card] = shrinks_of(graph_pool(card));
}

GraphPromise::GraphPromise(const GraphNeeds& growth) : growth_(growth) {
    for (int card = 0; card < kMaxCards; card++) {
        if (growth_.of[card] == 0) continue;
        if (error_ == CUDA_SUCCESS)
            error_ = promise(request_of(card, growth_.of[card]), promised_[card]);
        if (error_ != CUDA_SUCCESS) growth_.of[card] = 0;
    }
}

GraphPromise::~GraphPromise() {
    for (int card = 0; card < kMaxCards; card++)
        if (growth_.of[card] != 0) keep(request_of(card, growth_.of[card]), promised_[card], 0);
}

}  // namespace tessera::guard
