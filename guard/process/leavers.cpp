#include "guard/process/leavers.hpp"

#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/process.hpp"
#include "guard/process/relaxed.hpp"

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

void note_leaver(const Holding& holding, CUstream stream) {
    Leavers& here = leavers();
    CUevent event = nullptr;
    if (record_behind(stream, &event)) {
        const Locked lock(here.mutex);
        // The address was given again since, so what left it before is gone.
        const Leaver before = here.all.take(holding.address);
        if (before.event != nullptr) {
            driver()->cuEventDestroy_v2(before.event);
            put_back(before.holding);
        }
        here.has_any.store(true, std::memory_order_relaxed);
        if (here.all.add({holding, event})) return;
        driver()->cuEventDestroy_v2(event);
    }
    const Relaxed relaxed;
    driver()->cuStreamSynchronize(stream);
    put_back(holding);
}

bool look_at_leavers() {
    Leavers& here = leavers();
    if (!here.has_any.load(std::memory_order_relaxed)) return false;
    const Locked lock(here.mutex);
    const Relaxed relaxed;
    std::uint64_t place = 0;
    bool have_left = false;
    for (;;) {
        const Leaver gone = here.all.take_next(place, [](const Leaver& each) {
            return driver()->cuEventQuery(each.event) == CUDA_SUCCESS;
        });
        if (gone.event == nullptr) break;
        driver()->cuEventDestroy_v2(gone.event);
        put_back(gone.holding);
        have_left = true;
    }
    here.has_any.store(!here.all.is_empty(), std::memory_order_relaxed);
    return have_left;
}

// The events have ended with the context.
void forget_leavers_of(CUcontext context) {
    Leavers& here = leavers();
    if (!here.has_any.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    std::uint64_t place = 0;
    for (;;) {
        const Leaver gone = here.all.take_next(
            place, [context](const Leaver& each) { return each.holding.context == context; });
        if (gone.event == nullptr) break;
        put_back(gone.holding);
    }
}

void pass_on_leavers_of(CUcontext from, CUcontext to) {
    Leavers& here = leavers();
    if (!here.has_any.load(std::memory_order_relaxed)) return;
    const Locked lock(here.mutex);
    here.all.for_each([from, to](Leaver& each) {
        if (each.holding.context == from) each.holding.context = to;
    });
}

}  // namespace tessera::guard
