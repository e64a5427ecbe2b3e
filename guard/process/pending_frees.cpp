#include "guard/process/pending_frees.hpp"

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {
namespace {

bool record_behind(CUstream stream, CUevent* event) {
    const Driver& real = *driver();
    if (!real.cuEventCreate || !real.cuEventRecord || !real.cuEventQuery) return false;
    if (real.cuEventCreate(event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
    if (real.cuEventRecord(*event, stream) == CUDA_SUCCESS) return true;
    real.cuEventDestroy_v2(*event);
    return false;
}

}  // namespace

void record_pending_free(const Holding& holding, CUstream stream) {
    PendingFrees& here = pending_frees();
    CUevent event = nullptr;
    if (record_behind(stream, &event)) {
        const Locked lock(here.mutex);
        // The address has been allocated again since, so the memory freed before is gone.
        const PendingFree before = here.all.take(holding.address);
        if (before.event != nullptr) {
            driver()->cuEventDestroy_v2(before.event);
            release(before.holding);
        }
        here.has_any.store(true, std::memory_order_relaxed);
        if (here.all.add({holding, event})) return;
        driver()->cuEventDestroy_v2(event);
    }
    const Relaxed relaxed;
    driver()->cuStreamSynchronize(stream);
    release(holding);
}

bool release_done_frees() {
    PendingFrees& here = pending_frees();
    if (!here.has_any.load(std::memory_order_relaxed)) return false;
    const Locked lock(here.mutex);
    const Relaxed relaxed;
    std::uint64_t place = 0;
    bool have_left = false;
    for (;;) {
        const PendingFree gone = here.all.take_next(place, [](const PendingFree& each) {
            return driver()->cuEventQuery(each.event) == CUDA_SUCCESS;
        });
        if (gone.event == nullptr) break;
        driver()->cuEventDestroy_v2(gone.event);
        release(gone.holding);
        have_left = true;
    }
    here.has_any.store(!here.all.is_empty(), std::memory_order_relaxed);
    return have_left;
}

// The events have ended with the context.
void forget_pending_frees_of(CUcontext context) {
    PendingFrees& here = pending_frees();
    if (!here.has_any.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    std::uint64_t place = 0;
    for (;;) {
        const PendingFree gone = here.all.take_next(
            place, [context](const PendingFree& each) { return each.holding.context == context; });
        if (gone.event == nullptr) break;
        release(gone.holding);
    }
}

void pass_on_pending_frees_of(CUcontext from, CUcontext to) {
    PendingFrees& here = pending_frees();
    if (!here.has_any.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    here.all.for_each([from, to](PendingFree& each) {
        if (each.holding.context == from) each.holding.context = to;
    });
}

}  // namespace tessera::guard
