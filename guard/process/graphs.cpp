#include "guard/process/graphs.hpp"

#include "guard/base/locked.hpp"

namespace tessera::guard {
namespace {

PoolRequest request_of(int gpu, AllocationUnits units) {
    return {graph_pool(gpu), gpu, nullptr, nullptr, units * kAllocationUnitBytes};
}

}  // namespace

bool Graphs::record(CUgraphExec exec, const GraphNeeds& needs) {
    const Locked lock(mutex_);
    have_memory_.store(true, std::memory_order_relaxed);
    return all_.add({exec, needs, nullptr, false, {}});
}

ExecutableGraph Graphs::take(CUgraphExec exec) {
    const Locked lock(mutex_);
    return all_.take(reinterpret_cast<std::uint64_t>(exec));
}

void Graphs::release(const ExecutableGraph& graph) {
    const Locked lock(mutex_);
    all_.add(graph);  // there is room: it has just been removed
}

GraphNeeds Graphs::growth(CUgraphExec exec, CUstream stream) {
    const Locked lock(mutex_);
    const ExecutableGraph* found = all_.find(reinterpret_cast<std::uint64_t>(exec));
    if (found == nullptr) return {};
    GraphNeeds growth = found->needs;
    if (!found->has_been_launched || found->stream != stream) return growth;
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        if (growth.of[gpu] != 0 && shrinks_of(graph_pool(gpu)) == found->shrinks[gpu])
            growth.of[gpu] = 0;
    }
    return growth;
}

void Graphs::note_launch(CUgraphExec exec, CUstream stream) {
    const Locked lock(mutex_);
    ExecutableGraph* found = all_.find(reinterpret_cast<std::uint64_t>(exec));
    if (found == nullptr) return;
    found->stream = stream;
    found->has_been_launched = true;
    for (int gpu = 0; gpu < kMaxGpus; gpu++)
        if (found->needs.of[gpu] != 0) found->shrinks[gpu] = shrinks_of(graph_pool(gpu));
}

GraphReservation::GraphReservation(const GraphNeeds& growth) : growth_(growth) {
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        if (growth_.of[gpu] == 0) continue;
        if (error_ == CUDA_SUCCESS)
            error_ = reserve_growth(request_of(gpu, growth_.of[gpu]), reservations_[gpu]);
        if (error_ != CUDA_SUCCESS) growth_.of[gpu] = 0;
    }
}

GraphReservation::~GraphReservation() {
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        if (growth_.of[gpu] != 0)
            settle_growth(request_of(gpu, growth_.of[gpu]), reservations_[gpu], 0);
    }
}

}  // namespace tessera::guard
