#include "guard/compute/streams.hpp"

#include <pthread.h>

#include <algorithm>

#include "guard/compute/end_of_work.hpp"
#include "guard/compute/flights.hpp"
#include "guard/compute/gate.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/stream_ends.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/compute/stream_waits.hpp"
#include "guard/compute/thread_end.hpp"
#include "guard/compute/turn.hpp"
#include "guard/compute/watch.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/relaxed.hpp"
#include "guard/region/clock.hpp"

namespace tessera::guard {

thread_local constinit LastUsed last_used = {};

namespace {

// Where time is not shared out, it may become so: look again after so many launches. Few, for each
// may be long; and what the driver has queued by then cannot be called back.
constexpr int kUntimedCredit = 64;

// With the launch that is about to be.
void give_credit(StreamTiming& of, int launches) {
    of.pace.to_mark -= launches;
    of.since.launches += launches;
    of.credit.store(launches - 1, std::memory_order_relaxed);
}

// So that one more mark may be set. Where the first is not reached for long, for all that is known
// because the stream waits for work that the program has yet to launch, it is given more without.
// Lets others have the mutex meanwhile. False where nothing can be known of the stream.
bool make_room_unlocking(StreamTiming& of) {
    constexpr std::int64_t kLongNs = 1'000'000'000;
    const std::int64_t until_ns = monotonic_ns() + kLongNs;
    const auto is_full = [&of] {
        return marks_ahead(of) >= kMaxMarks ||
               (of.marks.ahead > 0 && calls_ahead(of) + of.pace.batch > kMostAhead);
    };
    auto passed = Passed::reached;
    while (passed == Passed::reached && is_full())
        passed = pass_first_mark(of, until_ns);
    if (passed == Passed::failed) end_piece(of, Ended::looked_at);
    if (passed == Passed::late) of.pace.batch = std::min(2 * of.pace.batch, kMaxBatch);
    return passed == Passed::reached || passed == Passed::late;
}

Place find_or_add_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    return {of, owner.card, of != nullptr ? of->generation : 0};
}

// That the stream has from another thread, or that this one has forgotten for another stream.
bool has_credit_elsewhere(CUstream stream, const Current& owner, WorkKind kind) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr || !of->is_in_flight || !take_credit(*of, kind)) return false;
    last_used_place(stream) = of;
    return true;
}

Given given_to(const Current& owner, const StreamTiming& of) {
    return {.owner = owner,
            .generation = of.generation,
            .turns = of.turns,
            .credit = of.credit.load(std::memory_order_relaxed)};
}

bool is_all(const Given& given, const StreamTiming& of) {
    const Given now = given_to(given.owner, of);
    return given.generation == now.generation && given.turns == now.turns &&
           given.credit == now.credit;
}

// Work that nobody counts.
void give_untimed(CUstream stream, const Current& owner) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    if (of == nullptr) return;
    last_used_place(stream) = of;
    of->credit.store(kUntimedCredit, std::memory_order_relaxed);
    of->credit_for.store(CreditFor::all, std::memory_order_relaxed);
}

// The work is of the piece that the stream has in flight, or begins one; kernels behind copies
// begin their own. Whether they do.
bool enter_piece(StreamTiming& of, WorkKind kind) {
    harvest(of);
    go_on_behind_wait(of);
    const bool is_behind_copies =
        of.is_in_flight && of.kind == WorkKind::copies && kind == WorkKind::kernels;
    if (is_behind_copies) end_piece(of, Ended::looked_at);
    if (of.is_in_flight) return false;
    begin_piece(of, kind, is_behind_copies);
    need_watch(of.card);
    return is_behind_copies;
}

}  // namespace

CUresult Turn::take(CUstream stream, WorkKind kind) {
    Current owner;
    if (const CUresult none = find_owner(stream, owner); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream)) return CUDA_SUCCESS;
    if (stream == CU_STREAM_PER_THREAD) leave_streams_at_thread_end(owner.card);
    if (!is_timed(owner.card) || !has_events()) {
        give_untimed(stream, owner);
        return CUDA_SUCCESS;
    }
    if (has_credit_elsewhere(stream, owner, kind)) return CUDA_SUCCESS;
    bool is_turn = true;
    do {
        const Place place = wait_for_place(find_or_add_locked, stream, owner);
        is_turn = wait_for_turn(place, kind, place);
    } while (!begin(stream, owner, kind, is_turn));
    return CUDA_SUCCESS;
}

// False where another needed the place while this thread waited for its turn.
bool Turn::begin(CUstream stream, const Current& owner, WorkKind kind, bool is_turn) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_or_add_stream(stream, owner);
    if (of == nullptr) {
        if (is_turn) keep_promise(owner.card, kind);
        return false;
    }
    last_used_place(stream) = of;
    const Relaxed relaxed;
    const bool is_behind_copies = enter_piece(*of, kind);
    if (is_turn) keep_promise(of->card, kind);
    count(*of);  // before make_room_unlocking() lets others in
    take_back_credit(*of);
    if (of->pace.to_mark > 0) draw_next_mark(*of);
    // So that what comes behind the copies is told apart from these.
    if (is_behind_copies && of->pace.to_mark > 0) add_mark(*of, MarkAt::launches);
    if (of->pace.to_mark <= 0) {
        if (!make_room_unlocking(*of)) return true;
        take_back_credit(*of);  // that another thread was given meanwhile
        set_mark(*of);
        draw_next_mark(*of);
        stands_for_ = of->pace.to_mark * of->stands_for;
    }
    const bool is_one = !is_turn || has_end_behind_;
    give_credit(*of, is_one ? 1 : of->pace.to_mark);
    return true;
}

void Turn::count(StreamTiming& of) {
    of_ = &of;
    generation_ = of.generation;
    of.on_their_way++;
    of.turns++;
    timing(of.card).turns++;
    of.end.awaited_ns = 0;
    // Where nobody else will learn of the end in time each call has an event behind it: nobody can
    // ask for a thread's own stream, and the watch may be dozing.
    has_end_behind_ = is_threads_own(of) || (timing(of.card).is_dozing.load() && has_start(of));
}

// What comes behind it is measured, where launches of the piece are.
void Turn::set_mark(StreamTiming& of) {
    const bool is_sample = of.stands_for > 0;
    const bool is_at_beginning = of.since.launches == 0 && of.marks.ahead == 0;
    if (marks_ahead(of) >= kMaxMarks || (is_at_beginning && !is_sample)) return;
    if (!add_mark(of, MarkAt::launches)) return;
    if (is_sample) mark_ = of.marks.added;
}

// The stream may be gone meanwhile, and another one in its place, which has turns of its own.
Turn::~Turn() {
    if (of_ == nullptr) return;
    const Locked lock(timing(of_->card).mutex);
    if (of_->generation != generation_) return;
    of_->on_their_way--;
    of_->end.awaited_ns = 0;
    if (!of_->is_in_flight) return;
    const bool is_end = has_end_behind_ && of_->on_their_way == 0;
    const bool is_behind_mark = mark_ != 0 && mark_ == of_->marks.added;
    if (!is_end && !is_behind_mark) return;
    const Relaxed relaxed;
    const InContext there(of_->context);
    if (is_end) record_end(*of_);
    if (is_behind_mark) note_launched_behind_mark(*of_, stands_for_);
}

Given before_wait(CUstream stream, Ended by) {
    const Current owner = owner_of(stream);
    if (owner.card < 0) return {};
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    see_some_ends_beside(owner.card, of);
    if (of == nullptr) return {};
    // What a copy waits for an event before it may.
    const bool may = by == Ended::waited_for_by_copy ? !is_capturing(stream) : may_record(*of);
    if (has_start(*of) && !is_end_known(*of) && may) record_end(*of);
    await_end(*of);
    Given given = given_to(owner, *of);
    given.by = by;
    return given;
}

void after_wait(CUstream stream, const Given& given) {
    const Current owner = given.owner.card >= 0 ? given.owner : owner_of(stream);
    if (owner.card < 0) return;
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of != nullptr && is_all(given, *of)) {
        if (of->on_their_way == 0) end_piece(*of, given.by);
    } else if (of != nullptr) {
        const Relaxed relaxed;
        end_if_done(*of, Ended::waited_for);
    }
    look_at_some_beside(owner.card, of);
}

}  // namespace tessera::guard
