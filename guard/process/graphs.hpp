// Executable graphs that allocate memory. The driver takes the memory when such a graph is launched
// or uploaded, and keeps it for the device's graphs until it is trimmed. That is a pool
// (pools.hpp): it is charged for what the driver says that it has reserved.
//
// The guard reserves what a launch may add to it. That is at most the address ranges of the graph's
// nodes, which the driver has fixed by then. The driver uses a range again if one node follows
// another node's free. Nothing is reserved if the graph was last launched in the same stream and
// nothing has been trimmed since.
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/charges.hpp"
#include "guard/process/graph_needs.hpp"
#include "guard/process/pools.hpp"

namespace tessera::guard {

struct ExecutableGraph {
    CUgraphExec handle;
    GraphNeeds needs;
    CUstream stream;  // the stream of its last launch
    bool has_been_launched;
    std::uint32_t shrinks[kMaxGpus];  // of the pools, at its last launch
};

inline std::uint64_t key_of(const ExecutableGraph& graph) {
    return reinterpret_cast<std::uint64_t>(graph.handle);
}

// Zero at first, and again in a forked child.
class Graphs {
  public:
    [[nodiscard]] bool have_memory() const { return have_memory_.load(std::memory_order_relaxed); }

    // False if there is no memory for the record.
    bool record(CUgraphExec exec, const GraphNeeds& needs);
    // Removes it; without a handle if the graph does not allocate.
    ExecutableGraph take(CUgraphExec exec);
    void release(const ExecutableGraph& graph);
    // The most that a launch in the stream may add to the pools.
    GraphNeeds growth(CUgraphExec exec, CUstream stream);
    void note_launch(CUgraphExec exec, CUstream stream);

  private:
    pthread_mutex_t mutex_;
    std::atomic<bool> have_memory_;
    Table<ExecutableGraph> all_;
};

// Reserves `growth` until it is destroyed.
class GraphReservation {
  public:
    explicit GraphReservation(const GraphNeeds& growth);
    ~GraphReservation();
    GraphReservation(const GraphReservation&) = delete;
    GraphReservation& operator=(const GraphReservation&) = delete;

    // CUDA_ERROR_OUT_OF_MEMORY if the limit does not allow it.
    [[nodiscard]] CUresult error() const { return error_; }

  private:
    GraphNeeds growth_;
    GrowthReservation reservations_[kMaxGpus];
    CUresult error_ = CUDA_SUCCESS;
};

}  // namespace tessera::guard
