#include "guard/compute/streams.hpp"

#include <pthread.h>

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/compute/launch_permit.hpp"
#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/in_context.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/stream_ends.hpp"
#include "guard/compute/measure/stream_table.hpp"
#include "guard/compute/measure/stream_waits.hpp"
#include "guard/compute/measure/work_intervals.hpp"
#include "guard/compute/permit/gate.hpp"
#include "guard/compute/polling_thread.hpp"
#include "guard/compute/thread_end.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/region/clock.hpp"

namespace tessera::guard {

thread_local constinit LastUsed last_used = {};

namespace {

// Time that is not shared out now may be later, so look again after this many launches. The number
// is small, because each launch may be long, and the driver's queued launches cannot be called
// back.
constexpr int kUntimedBurstBudget = 64;

// The number includes the launch that is about to be made.
void give_burst_budget(StreamTiming& of, int launches) {
    of.pace.to_pacing_event -= launches;
    of.since.launches += launches;
    of.burst_budget.store(launches - 1, std::memory_order_relaxed);
}

// Makes room for one more pacing event. If the first one is not reached for a long time, the stream
// may wait for work that the program has yet to launch. Then the stream gets more launches without
// a new pacing event. Releases the mutex while it waits. False if nothing can be known of the
// stream.
bool make_room_unlocking(StreamTiming& of) {
    constexpr std::int64_t kLongNs = 1'000'000'000;
    const std::int64_t until_ns = monotonic_ns() + kLongNs;
    const auto is_full = [&of] {
        return pacing_events_ahead(of) >= kMaxPacingEvents ||
               (of.pacing_events.ahead > 0 && calls_ahead(of) + of.pace.batch > kMostAhead);
    };
    auto passed = Passed::reached;
    while (passed == Passed::reached && is_full())
        passed = pass_first_pacing_event(of, until_ns);
    if (passed == Passed::failed) end_interval(of, Ended::looked_at);
    if (passed == Passed::late) of.pace.batch = std::min(2 * of.pace.batch, kMaxBatch);
    return passed == Passed::reached || passed == Passed::late;
}

Place find_or_add_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    return {of, owner.gpu, of != nullptr ? of->generation : 0};
}

// Uses the burst budget that another thread got for the stream, or that this thread no longer has
// at hand because it used another stream.
bool has_burst_budget_elsewhere(CUstream stream, const Current& owner, WorkKind kind) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr || !of->is_in_flight || !take_launch_from_budget(*of, kind)) return false;
    last_used_place(stream) = of;
    return true;
}

Given given_to(const Current& owner, const StreamTiming& of) {
    return {.owner = owner,
            .generation = of.generation,
            .permits = of.permits,
            .burst_budget = of.burst_budget.load(std::memory_order_relaxed)};
}

bool is_all(const Given& given, const StreamTiming& of) {
    const Given now = given_to(given.owner, of);
    return given.generation == now.generation && given.permits == now.permits &&
           given.burst_budget == now.burst_budget;
}

// Lets the stream have work that is not counted.
void give_untimed(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    if (of == nullptr) return;
    last_used_place(stream) = of;
    of->burst_budget.store(kUntimedBurstBudget, std::memory_order_relaxed);
    of->burst_budget_for.store(BurstBudgetFor::all, std::memory_order_relaxed);
}

// The work joins the work interval that the stream has in flight, or begins one. Kernels behind
// copies begin their own; returns whether that is so.
bool enter_interval(StreamTiming& of, WorkKind kind) {
    harvest(of);
    go_on_behind_wait(of);
    const bool is_behind_copies =
        of.is_in_flight && of.kind == WorkKind::copies && kind == WorkKind::kernels;
    if (is_behind_copies) end_interval(of, Ended::looked_at);
    if (of.is_in_flight) return false;
    begin_interval(of, kind, is_behind_copies);
    ensure_polling_thread(of.gpu);
    return is_behind_copies;
}

}  // namespace

CUresult LaunchPermit::take(CUstream stream, WorkKind kind) {
    Current owner;
    if (const CUresult none = find_owner(stream, owner); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream)) return CUDA_SUCCESS;
    if (stream == CU_STREAM_PER_THREAD) leave_streams_at_thread_end(owner.gpu);
    if (!is_timed(owner.gpu) || !has_events()) {
        give_untimed(stream, owner);
        return CUDA_SUCCESS;
    }
    if (has_burst_budget_elsewhere(stream, owner, kind)) return CUDA_SUCCESS;
    bool is_permitted = true;
    do {
        const Place place = wait_for_place(find_or_add_locked, stream, owner);
        is_permitted = wait_for_permit(place, kind, place);
    } while (!begin(stream, owner, kind, is_permitted));
    return CUDA_SUCCESS;
}

// False if another stream took the place while this thread waited for its permit.
bool LaunchPermit::begin(CUstream stream, const Current& owner, WorkKind kind, bool is_permitted) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    if (of == nullptr) {
        if (is_permitted) end_permit(owner.gpu, kind);
        return false;
    }
    last_used_place(stream) = of;
    const Relaxed relaxed;
    const bool is_behind_copies = enter_interval(*of, kind);
    if (is_permitted) end_permit(of->gpu, kind);
    count(*of);  // before make_room_unlocking() releases the mutex
    take_back_burst_budget(*of);
    if (of->pace.to_pacing_event > 0) draw_next_pacing_event(*of);
    // Separates the copies from what comes behind them.
    if (is_behind_copies && of->pace.to_pacing_event > 0)
        add_pacing_event(*of, PacingEventAt::launches);
    if (of->pace.to_pacing_event <= 0) {
        if (!make_room_unlocking(*of)) return true;
        take_back_burst_budget(*of);  // if another thread was given some meanwhile
        set_pacing_event(*of);
        draw_next_pacing_event(*of);
        stands_for_ = of->pace.to_pacing_event * of->stands_for;
    }
    const bool is_one = !is_permitted || has_end_behind_;
    give_burst_budget(*of, is_one ? 1 : of->pace.to_pacing_event);
    return true;
}

void LaunchPermit::count(StreamTiming& of) {
    of_ = &of;
    generation_ = of.generation;
    of.on_their_way++;
    of.permits++;
    timing(of.gpu).permits++;
    of.end.awaited_ns = 0;
    // Each call records an event behind it if the end would otherwise be learned late: no other
    // thread can query a thread's own stream, and the polling thread may be dozing.
    has_end_behind_ = is_threads_own(of) || (timing(of.gpu).is_dozing.load() && has_start(of));
}

// If launches of the work interval are measured, the launch behind the pacing event is.
void LaunchPermit::set_pacing_event(StreamTiming& of) {
    const bool is_sample = of.stands_for > 0;
    const bool is_at_beginning = of.since.launches == 0 && of.pacing_events.ahead == 0;
    if (pacing_events_ahead(of) >= kMaxPacingEvents || (is_at_beginning && !is_sample)) return;
    if (!add_pacing_event(of, PacingEventAt::launches)) return;
    if (is_sample) pacing_event_ = of.pacing_events.added;
}

// The stream may have gone meanwhile. Then another one, with calls of its own, may have its place.
LaunchPermit::~LaunchPermit() {
    if (of_ == nullptr) return;
    const Locked lock(timing(of_->gpu).mutex);
    if (of_->generation != generation_) return;
    of_->on_their_way--;
    of_->end.awaited_ns = 0;
    if (!of_->is_in_flight) return;
    const bool is_end = has_end_behind_ && of_->on_their_way == 0;
    const bool is_behind_pacing_event =
        pacing_event_ != 0 && pacing_event_ == of_->pacing_events.added;
    if (!is_end && !is_behind_pacing_event) return;
    const Relaxed relaxed;
    const InContext there(of_->context);
    if (is_end) record_end(*of_);
    if (is_behind_pacing_event) record_launched_behind_pacing_event(*of_, stands_for_);
}

Given before_wait(CUstream stream, Ended by) {
    const Current owner = owner_of(stream);
    if (owner.gpu < 0) return {};
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    see_some_ends_beside(owner.gpu, of);
    if (of == nullptr) return {};
    // An event before the copy may wait for everything that the copy itself waits for.
    const bool may = by == Ended::waited_for_by_copy ? !is_capturing(stream) : may_record(*of);
    if (has_start(*of) && !is_end_known(*of) && may) record_end(*of);
    await_end(*of);
    Given given = given_to(owner, *of);
    given.by = by;
    return given;
}

void after_wait(CUstream stream, const Given& given) {
    const Current owner = given.owner.gpu >= 0 ? given.owner : owner_of(stream);
    if (owner.gpu < 0) return;
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of != nullptr && is_all(given, *of)) {
        if (of->on_their_way == 0) end_interval(*of, given.by);
    } else if (of != nullptr) {
        const Relaxed relaxed;
        end_if_done(*of, Ended::waited_for);
    }
    look_at_some_beside(owner.gpu, of);
}

}  // namespace tessera::guard
