// Memory of cuMemAlloc that a program has freed in stream order (cuMemFreeAsync). The GPU keeps it
// until the stream reaches the free, and it stays charged for that time. An event after the free
// shows when that is.
//
// Any thread. All functions require that begin() has succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/holdings.hpp"

namespace tessera::guard {

struct PendingFree {
    Holding holding;
    CUevent event;
};

inline std::uint64_t key_of(const PendingFree& pending_free) {
    return pending_free.holding.address;
}

// Zero at first, and again in a forked child.
struct PendingFrees {
    pthread_mutex_t mutex;
    std::atomic<bool> has_any;
    Table<PendingFree> all;
};

// A recorded holding is freed in stream order. Waits for the free only if no event can be created.
void record_pending_free(const Holding& holding, CUstream stream);
// Releases memory whose free has been reached; returns whether there was any.
bool release_done_frees();
// Releases everything that ended with a context.
void forget_pending_frees_of(CUcontext context);
// They would end with another context from now on.
void pass_on_pending_frees_of(CUcontext from, CUcontext to);

}  // namespace tessera::guard
