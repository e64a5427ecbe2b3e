#include "guard/compute/measure/end_of_work.hpp"

#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/stream_table.hpp"
#include "guard/compute/measure/stream_waits.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"

namespace tessera::guard {
namespace {

// Records the end of the work that a thread begins to wait for.
bool record(StreamTiming& of) {
    of.end.is_recorded = event_in(of.end.event, of) != nullptr &&
                         driver()->cuEventRecord(of.end.event, of.stream.load()) == CUDA_SUCCESS;
    return of.end.is_recorded;
}

}  // namespace

bool can_ask(const StreamTiming& of) {
    CUstream stream = of.stream.load();
    if (of.thread != thread_of(stream)) return false;
    CUcontext current = nullptr;
    return !is_default(stream) ||
           (driver()->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == of.context);
}

bool is_done(const StreamTiming& of) {
    if (of.on_their_way > 0) return false;
    if (waits_since_ns(of) != 0) return true;
    CUstream stream = of.stream.load();
    if (!is_left(of) && can_ask(of) && !is_capturing(stream))
        return driver()->cuStreamQuery(stream) == CUDA_SUCCESS;
    return is_end_known(of) && driver()->cuEventQuery(of.end.event) != CUDA_ERROR_NOT_READY;
}

bool is_end_awaited(const StreamTiming& of) {
    return of.end.awaited_ns != 0 &&
           of.end.awaited_burst_budget == of.burst_budget.load(std::memory_order_relaxed);
}

bool is_end_known(const StreamTiming& of) {
    return of.end.is_recorded && is_end_awaited(of);
}

void await_end(StreamTiming& of) {
    if (!of.is_in_flight || is_end_awaited(of)) return;
    of.end.awaited_ns = monotonic_ns();
    of.end.awaited_burst_budget = of.burst_budget.load(std::memory_order_relaxed);
    of.end.is_recorded = false;
}

bool record_end(StreamTiming& of) {
    await_end(of);
    return has_room_for_event(of) && record(of);
}

bool may_record(const StreamTiming& of) {
    return (!is_default_of_all(of) || streams_in_flight(of.gpu) == 1) &&
           !is_capturing(of.stream.load());
}

// Records even if the driver's queue may be full: a program must not get unpaid GPU time by
// destroying its streams.
bool record_leaving(StreamTiming& of) {
    if (!is_end_known(of)) {
        if (is_capturing(of.stream.load())) return false;
        await_end(of);
        if (!record(of)) return false;
    }
    of.state = StreamTiming::State::left;
    return true;
}

}  // namespace tessera::guard
