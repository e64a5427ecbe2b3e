#include "guard/compute/waited_copy.hpp"

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/lot.hpp"
#include "guard/compute/measure/pauses.hpp"
#include "guard/compute/measure/stream_table.hpp"
#include "guard/compute/measure/work_intervals.hpp"
#include "guard/compute/permit/gate.hpp"
#include "guard/compute/polling_thread.hpp"
#include "guard/compute/thread_end.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"

namespace tessera::guard {
namespace {

// Such a copy takes 20 to 90 us at least, so the events cost little in comparison.
constexpr std::size_t kLongBytes = std::size_t{1} << 20;

Place find_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    return {of, owner.gpu, of != nullptr ? of->generation : 0};
}

// No other call has the place until this one ends.
Place take_place_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_or_add_waited_copy(stream, owner);
    if (of == nullptr) return {};
    of->on_their_way = 1;
    return {of, owner.gpu, of->generation};
}

// The most that a short copy takes, over the slowest of links. Longer means that the thread did not
// run when it was about to issue the copy.
std::int64_t longest_ns(std::size_t bytes) {
    constexpr std::int64_t kNsPerByte = 4;
    constexpr std::int64_t kOnItsWayNs = 20'000;
    return kOnItsWayNs + kNsPerByte * static_cast<std::int64_t>(bytes);
}

// A wait for an event spins, while a wait for a stream follows the context's scheduling flags.
bool waits_spin() {
    unsigned flags = CU_CTX_SCHED_BLOCKING_SYNC;
    const auto& ask = driver()->cuCtxGetFlags;
    if (!ask || !driver()->cuEventSynchronize || ask(&flags) != CUDA_SUCCESS) return false;
    const unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN;
}

// The mean length of the measured copies, at the end of the call. The time before it was a wait.
Span work_in_mean(LaunchedWork& known, Span call) {
    const std::int64_t length = call.end_ns - call.start_ns;
    return {call.start_ns + take_pause_ns(known, {call, 1, -1, length}), call.end_ns};
}

}  // namespace

CUresult WaitedCopy::acquire_permit(CUstream stream, std::size_t bytes) {
    Current owner;
    if (const CUresult none = find_current(owner); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream) || !is_timed(owner.gpu) || !has_events()) return CUDA_SUCCESS;
    if (stream == CU_STREAM_PER_THREAD) leave_streams_at_thread_end(owner.gpu);
    place_ = wait_for_place(take_place_locked, stream, owner);
    const bool is_permitted = wait_for_permit(place_, WorkKind::copies, find_locked(stream, owner));
    before_ = before_wait(stream, Ended::waited_for_by_copy);
    begin(stream, bytes, is_permitted);
    return CUDA_SUCCESS;
}

void WaitedCopy::begin(CUstream stream, std::size_t bytes, bool is_permitted) {
    const Locked lock(timing(place_.gpu).mutex);
    if (place_.is_ours()) begin_interval_of(stream, bytes);
    if (is_permitted) end_permit(place_.gpu, WorkKind::copies);
}

void WaitedCopy::begin_interval_of(CUstream stream, std::size_t bytes) {
    StreamTiming& of = *place_.of;
    stream_ = stream;
    bytes_ = bytes;
    is_long_ = bytes >= kLongBytes;
    of.kind = WorkKind::copies;
    const bool is_all = is_long_ || work_of(of).launches < 1;
    const int stands_for = is_all ? 1 : draw_sample(of.gpu);
    is_measured_ = stands_for > 0;
    began_ns_ = monotonic_ns();
    if (!is_measured_) return;
    const Relaxed relaxed;
    begin_measured_interval(of, WorkKind::copies);
    of.stands_for = stands_for;
    ensure_polling_thread(of.gpu);
}

// Null if it cannot be recorded.
CUevent WaitedCopy::record_behind() {
    const Locked lock(timing(place_.gpu).mutex);
    if (!place_.is_ours() || !place_.of->is_in_flight) return nullptr;
    const Relaxed relaxed;
    return record_end(*place_.of) ? place_.of->end.event : nullptr;
}

CUresult WaitedCopy::wait() {
    CUevent event = record_behind();
    const Driver& real = *driver();
    return event != nullptr && waits_spin() ? real.cuEventSynchronize(event)
                                            : real.cuStreamSynchronize(stream_);
}

// The part of the call that was work. If it was to be measured and could not be, that is all of it.
Span WaitedCopy::end(StreamTiming& of) const {
    const std::int64_t now = monotonic_ns();
    if (!is_done_) return {began_ns_, began_ns_};
    if (!is_measured_) return work_in_mean(work_of(of), {began_ns_, now});
    Span work = measured_work(of, now);
    if (work.end_ns == 0) work = {of.began_ns, now};
    if (is_long_) return work;
    work.start_ns = std::max(work.start_ns, work.end_ns - longest_ns(bytes_));
    learn_launch(work_of(of), work.end_ns - work.start_ns, of.stands_for);
    return work;
}

WaitedCopy::~WaitedCopy() {
    if (place_.of == nullptr) return;
    {
        const Locked lock(timing(place_.gpu).mutex);
        if (!place_.is_ours()) return;
        StreamTiming& of = *place_.of;
        of.on_their_way = 0;
        const Relaxed relaxed;
        const Span work = end(of);
        of.pace.each_ns = static_cast<double>(work.end_ns - work.start_ns);
        of.pace.longest_ns = of.pace.each_ns;
        if (of.is_in_flight) end_measured_interval(of, work);
        if (!is_measured_ && work.start_ns < work.end_ns)
            record_interval(of, WorkKind::copies, work);
    }
    if (is_done_) after_wait(stream_, before_);
}

}  // namespace tessera::guard
