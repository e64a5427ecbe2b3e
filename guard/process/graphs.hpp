// Executable graphs that allocate memory. The card gives it up when such a graph is launched or
// uploaded, and the device keeps it for graphs until it is trimmed: that is a pool (pools.hpp),
// which counts for what the driver says that it has reserved.
//
// What a launch may make it grow by is set aside before: no more than the addresses of the graph's
// nodes fill, which the driver has fixed by then, and gives again where one node follows another's
// free. Nothing, where the graph was launched in that stream before and nothing has been trimmed
// since.
//
// Any thread. All want begin() to have succeeded.
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
    CUstream stream;  // that it was launched in last
    bool has_been_launched;
    std::uint32_t shrinks[kMaxCards];  // of the pools, as of then
};

inline std::uint64_t key_of(const ExecutableGraph& graph) {
    return reinterpret_cast<std::uint64_t>(graph.handle);
}

// Zero at first, and again in a forked child.
class Graphs {
  public:
    [[nodiscard]] bool have_memory() const { return have_memory_.load(std::memory_order_relaxed); }

    // False without memory.
    bool note(CUgraphExec exec, const GraphNeeds& needs);
    // Takes it out; without a handle where it is none that allocates.
    ExecutableGraph take(CUgraphExec exec);
    void put_back(const ExecutableGraph& graph);
    // What a launch in the stream may make the pools grow by.
    GraphNeeds growth(CUgraphExec exec, CUstream stream);
    void note_launch(CUgraphExec exec, CUstream stream);

  private:
    pthread_mutex_t mutex_;
    std::atomic<bool> have_memory_;
    Table<ExecutableGraph> all_;
};

// Sets `growth` aside while it lives.
class GraphPromise {
  public:
    explicit GraphPromise(const GraphNeeds& growth);
    ~GraphPromise();
    GraphPromise(const GraphPromise&) = delete;
    GraphPromise& operator=(const GraphPromise&) = delete;

    // CUDA_ERROR_OUT_OF_MEMORY where there is no room for it.
    [[nodiscard]] CUresult error() const { return error_; }

  private:
    GraphNeeds growth_;
    Promise promised_[kMaxCards];
    CUresult error_ = CUDA_SUCCESS;
};

}  // namespace tessera::guard
