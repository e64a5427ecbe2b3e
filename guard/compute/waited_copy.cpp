#include "guard/compute/waited_copy.hpp"

#include <algorithm>

#include "guard/compute/end_of_work.hpp"
#include "guard/compute/flights.hpp"
#include "guard/compute/gate.hpp"
#include "guard/compute/lot.hpp"
#include "guard/compute/pauses.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/compute/thread_end.hpp"
#include "guard/compute/watch.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/relaxed.hpp"

namespace tessera::guard {
namespace {

// From some 20 to 90 us on: events cost little beside it.
constexpr std::size_t kLongBytes = std::size_t{1} << 20;

Place find_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    return {of, owner.card, of != nullptr ? of->generation : 0};
}

// Nobody else has it until this one's end.
Place take_place_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_or_add_waited_copy(stream, owner);
    if (of == nullptr) return {};
    of->on_their_way = 1;
    return {of, owner.card, of->generation};
}

// That a short one takes at the most, over the slowest of links: what is above that is a thread
// that was not running when it was about to give it.
std::int64_t longest_ns(std::size_t bytes) {
    constexpr std::int64_t kNsPerByte = 4;
    constexpr std::int64_t kOnItsWayNs = 20'000;
    return kOnItsWayNs + kNsPerByte * static_cast<std::int64_t>(bytes);
}

// An event is waited for by spinning, a stream as the context's threads wait.
bool waits_spin() {
    unsigned flags = CU_CTX_SCHED_BLOCKING_SYNC;
    const auto& ask = driver()->cuCtxGetFlags;
    if (!ask || !driver()->cuEventSynchronize || ask(&flags) != CUDA_SUCCESS) return false;
    const unsigned schedule = flags & CU_CTX_SCHED_MASK;
    return schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN;
}

// As long as those that were measured are in the mean, and at its end: before it, it waited.
Span work_in_mean(LaunchedWork& known, Span call) {
    const std::int64_t length = call.end_ns - call.start_ns;
    return {call.start_ns + take_pause_ns(known, {call, 1, -1, length}), call.end_ns};
}

}  // namespace

CUresult WaitedCopy::take_turn(CUstream stream, std::size_t bytes) {
    Current owner;
    if (const CUresult none = find_current(owner); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream) || !is_timed(owner.card) || !has_events()) return CUDA_SUCCESS;
    if (stream == CU_STREAM_PER_THREAD) leave_streams_at_thread_end(owner.card);
    place_ = wait_for_place(take_place_locked, stream, owner);
    const bool is_turn = wait_for_turn(place_, WorkKind::copies, find_locked(stream, owner));
    before_ = before_wait(stream, Ended::waited_for_by_copy);
    begin(stream, bytes, is_turn);
    return CUDA_SUCCESS;
}

void WaitedCopy::begin(CUstream stream, std::size_t bytes, bool is_turn) {
    const Locked lock(timing(place_.card).mutex);
    if (place_.is_ours()) begin_piece_of(stream, bytes);
    if (is_turn) keep_promise(place_.card, WorkKind::copies);
}

void WaitedCopy::begin_piece_of(CUstream stream, std::size_t bytes) {
    StreamTiming& of = *place_.of;
    stream_ = stream;
    bytes_ = bytes;
    is_long_ = bytes >= kLongBytes;
    of.kind = WorkKind::copies;
    const bool is_all = is_long_ || work_of(of).launches < 1;
    const int stands_for = is_all ? 1 : draw_sample(of.card);
    is_measured_ = stands_for > 0;
    began_ns_ = monotonic_ns();
    if (!is_measured_) return;
    const Relaxed relaxed;
    begin_measured_piece(of, WorkKind::copies);
    of.stands_for = stands_for;
    need_watch(of.card);
}

// Null where it could not.
CUevent WaitedCopy::record_behind() {
    const Locked lock(timing(place_.card).mutex);
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

// What of the call was work, if it was not measured, or the card could not: all of it.
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
        const Locked lock(timing(place_.card).mutex);
        if (!place_.is_ours()) return;
        StreamTiming& of = *place_.of;
        of.on_their_way = 0;
        const Relaxed relaxed;
        const Span work = end(of);
        of.pace.each_ns = static_cast<double>(work.end_ns - work.start_ns);
        of.pace.longest_ns = of.pace.each_ns;
        if (of.is_in_flight) end_measured_piece(of, work);
        if (!is_measured_ && work.start_ns < work.end_ns) note_piece(of, WorkKind::copies, work);
    }
    if (is_done_) after_wait(stream_, before_);
}

}  // namespace tessera::guard
