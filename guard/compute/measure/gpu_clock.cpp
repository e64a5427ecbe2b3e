#include "guard/compute/measure/gpu_clock.hpp"

#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/elapsed.hpp"
#include "guard/compute/measure/in_context.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kOldNs = 10'000'000'000;
// If no event still needs the old setting. In that time the clocks drift apart by some 10 us.
constexpr std::int64_t kOldUnusedNs = 250'000'000;

Timing::Clock* find_clock(int gpu, CUcontext context) {
    for (Timing::Clock& each : timing(gpu).clocks)
        if (each.context == context) return &each;
    return nullptr;
}

// If there are more than kMaxClocks contexts, some have no clock.
Timing::Clock* make_clock(int gpu, CUcontext context) {
    const Driver& real = *driver();
    Timing::Clock* clock = find_clock(gpu, nullptr);
    if (clock == nullptr || !real.cuStreamCreate) return nullptr;
    const InContext there(context);
    if (real.cuStreamCreate(&clock->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return nullptr;
    if (real.cuEventCreate(&clock->event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        if (real.cuStreamDestroy_v2) real.cuStreamDestroy_v2(clock->stream);
        return nullptr;
    }
    clock->context = context;
    clock->recorded_ns = 0;
    return clock;
}

}  // namespace

std::int64_t set_clock(const StreamTiming& of, std::int64_t now) {
    Timing::Clock* clock = find_clock(of.gpu, of.context);
    if (clock == nullptr) clock = make_clock(of.gpu, of.context);
    if (clock == nullptr) return 0;
    const bool is_unused = streams_in_flight(of.gpu) <= 1 && !of.start.is_recorded &&
                           of.pacing_events.ahead == 0 && of.pacing_events.last_reached == nullptr;
    if (now - clock->recorded_ns < (is_unused ? kOldUnusedNs : kOldNs)) return clock->recorded_ns;
    const InContext there(of.context);
    const bool is_recorded = driver()->cuEventRecord(clock->event, clock->stream) == CUDA_SUCCESS;
    clock->recorded_ns = is_recorded ? now : 0;
    clock->late_ns = 0;
    return clock->recorded_ns;
}

std::int64_t happened_at(const StreamTiming& of, CUevent event, std::int64_t clock_ns) {
    const Timing::Clock* clock = find_clock(of.gpu, of.context);
    if (clock == nullptr || clock_ns == 0 || clock->recorded_ns != clock_ns) return 0;
    const auto ns = elapsed_ns(clock->event, event);
    return ns ? clock_ns + clock->late_ns + *ns : 0;
}

void note_too_soon(const StreamTiming& of, std::int64_t by_ns) {
    Timing::Clock* clock = find_clock(of.gpu, of.context);
    if (clock != nullptr) clock->late_ns += by_ns;
}

void note_happened(const StreamTiming& of, CUevent event, std::int64_t clock_ns) {
    const std::int64_t ns = happened_at(of, event, clock_ns);
    const std::int64_t now = monotonic_ns();
    if (ns > now) note_too_soon(of, now - ns);
}

void forget_clock(int gpu, CUcontext context) {
    Timing::Clock* clock = find_clock(gpu, context);
    if (clock != nullptr) *clock = {};
}

}  // namespace tessera::guard
