#include "gpusim/state/slices.hpp"

#include "gpusim/state/timeline.hpp"

namespace gpusim::slices {
namespace {

constexpr int kNoSlot = -1;
// The part of a slice after which a process with new work is noticed: 0.4 ms of 2 ms.
constexpr std::int64_t kNoticedAfter = 5;
// A process that is that close to the end of its work at the end of its slice is not preempted. So
// an event does not make a burst of a slice longer than a slice.
constexpr std::int64_t kLeewayPs = 1'000'000;

std::int64_t smaller(std::int64_t one, std::int64_t other) {
    return one < other ? one : other;
}

std::int64_t larger(std::int64_t one, std::int64_t other) {
    return one > other ? one : other;
}

// Rounded up: when the time is over, the work is done.
std::int64_t time_of(std::int64_t work_ps) {
    return (work_ps + kPsPerNs - 1) / kPsPerNs;
}

SlicedEngine& engine_of(State& state, int gpu) {
    return state.file->sliced[gpu];
}

const SlicedEngine& engine_of(const State& state, int gpu) {
    return state.file->sliced[gpu];
}

struct Turn {
    std::int64_t from_ns;   // the end of the turn before it, or when there was work again
    std::int64_t start_ns;  // later by a switch, if another process ran before
    std::int64_t end_ns;
    std::int64_t before_ps;  // how far the slot had come at the start
    std::int64_t after_ps;
    int slot;

    // How far the slot has come at a time within the turn.
    std::int64_t work_at(std::int64_t now) const {
        if (now <= start_ns) return before_ps;
        return now >= end_ns ? after_ps
                             : smaller(before_ps + (now - start_ns) * kPsPerNs, after_ps);
    }
    std::int64_t time_at(std::int64_t work_ps) const {
        return start_ns + time_of(work_ps - before_ps);
    }
    std::int64_t ns_between(std::int64_t start, std::int64_t end) const {
        return larger(smaller(end_ns, end) - larger(from_ns, start), 0);
    }
};

Turn turn(const SlicedEngine& engine, std::uint64_t number) {
    if (number == 0) return {0, 0, 0, 0, 0, kNoSlot};
    const PastTurn& at = engine.turns[number % kMoments];
    return {at.from_ns.load(),   at.start_ns.load(), at.end_ns.load(),
            at.before_ps.load(), at.after_ps.load(), static_cast<int>(at.slot.load())};
}

// Storing it again after a crash between the stores changes nothing.
void note_work(SlicedEngine& engine, const Turn& turn) {
    if (turn.slot != kNoSlot) engine.bookings[turn.slot].done_ps.store(turn.after_ps);
}

void add_turn(SlicedEngine& engine, const Turn& turn) {
    const std::uint64_t number = engine.turns_total.load() + 1;
    PastTurn& place = engine.turns[number % kMoments];
    place.from_ns.store(turn.from_ns);
    place.start_ns.store(turn.start_ns);
    place.end_ns.store(turn.end_ns);
    place.before_ps.store(turn.before_ps);
    place.after_ps.store(turn.after_ps);
    place.slot.store(turn.slot);
    engine.turns_total.store(number);
    note_work(engine, turn);
}

// The turns after the newest one of the ring, if nothing else is booked or cut off.
class Course {
  public:
    Course(const State& state, int gpu)
        : slice_ns_(state.file->gpus[gpu].time_slice_ns),
          switch_ns_(state.file->gpus[gpu].switch_ns) {
        const SlicedEngine& engine = engine_of(state, gpu);
        // Without the lock, turns may be added meanwhile.
        for (int tries = 0; tries < 10; tries++) {
            const std::uint64_t number = engine.turns_total.load();
            read(engine, turn(engine, number), state.file->slots_end.load());
            if (engine.turns_total.load() == number) return;
        }
    }

    std::int64_t time_ns() const { return time_ns_; }
    bool has_work() const { return count_ > 0; }

    // The turn that comes next. Call it while there is work.
    Turn next() const {
        const std::int64_t from = larger(time_ns_, earliest_but(nullptr));
        const Runner& runner = runners_[next_runner(from)];
        const bool is_switch = last_ != kNoSlot && last_ != runner.slot;
        const std::int64_t start = from + (is_switch ? switch_ns_ : 0);
        const std::int64_t done = start + time_of(runner.until_ps - runner.done_ps);
        const std::int64_t waits_since = earliest_but(&runner);
        const std::int64_t preempted =
            waits_since == kNever
                ? kNever
                : larger(start + slice_ns_, waits_since + slice_ns_ / kNoticedAfter);
        const bool is_done = done - kLeewayPs / kPsPerNs <= preempted;
        const std::int64_t end = is_done ? done : preempted;
        const std::int64_t after =
            is_done ? runner.until_ps : runner.done_ps + (end - start) * kPsPerNs;
        return {from, start, end, runner.done_ps, after, runner.slot};
    }

    void pass(const Turn& turn) {
        time_ns_ = turn.end_ns;
        last_ = turn.slot;
        int kept = 0;
        for (int i = 0; i < count_; i++) {
            if (runners_[i].slot == turn.slot) runners_[i].done_ps = turn.after_ps;
            if (runners_[i].done_ps < runners_[i].until_ps) runners_[kept++] = runners_[i];
        }
        count_ = kept;
    }

    // How many rounds all have work for, with some left after them. In each, every process gets a
    // whole slice.
    std::int64_t whole_rounds() const {
        if (count_ < 2 || last_ == kNoSlot) return 0;
        std::int64_t rounds = kNever;
        for (int i = 0; i < count_; i++) {
            const Runner& runner = runners_[i];
            if (runner.since_ns > time_ns_) return 0;
            const std::int64_t left_ps = runner.until_ps - runner.done_ps - kLeewayPs;
            rounds = smaller(rounds, (left_ps - 1) / slice_ps());
        }
        return rounds;
    }
    std::int64_t round_ns() const { return count_ * (slice_ns_ + switch_ns_); }
    void skip(std::int64_t rounds) {
        if (rounds <= 0) return;
        // The one that has its turn before the first one.
        last_ = runners_[(next_runner(time_ns_) + count_ - 1) % count_].slot;
        time_ns_ += rounds * round_ns();
        for (int i = 0; i < count_; i++)
            runners_[i].done_ps += rounds * slice_ns_ * kPsPerNs;
    }

    // How far a slot has come; `other` if it has no work.
    std::int64_t work_of(int slot, std::int64_t other) const {
        for (int i = 0; i < count_; i++)
            if (runners_[i].slot == slot) return runners_[i].done_ps;
        return other;
    }
    std::int64_t slice_ps() const { return slice_ns_ * kPsPerNs; }

  private:
    struct Runner {
        std::int64_t since_ns;
        std::int64_t done_ps;
        std::int64_t until_ps;
        int slot;
    };

    void read(const SlicedEngine& engine, const Turn& newest, int slots) {
        time_ns_ = newest.end_ns;
        last_ = newest.slot;
        count_ = 0;
        for (int slot = 0; slot < slots; slot++) {
            const TurnBooking& booking = engine.bookings[slot];
            const std::int64_t until = booking.until_ps.load();
            const std::int64_t done = slot == last_ ? newest.after_ps : booking.done_ps.load();
            if (until > done) runners_[count_++] = {booking.since_ns.load(), done, until, slot};
        }
    }
    // Since when one of them has had work; kNever if there is no other.
    std::int64_t earliest_but(const Runner* one) const {
        std::int64_t earliest = kNever;
        for (int i = 0; i < count_; i++)
            if (&runners_[i] != one) earliest = smaller(earliest, runners_[i].since_ns);
        return earliest;
    }
    // Of those that have work then, the next slot after the last one, around the end. The last one
    // itself only if there is no other.
    int next_runner(std::int64_t at) const {
        int first = kNoSlot;
        int same = 0;
        for (int i = 0; i < count_; i++) {
            if (runners_[i].since_ns > at) continue;
            if (runners_[i].slot == last_) {
                same = i;
            } else if (runners_[i].slot > last_) {
                return i;
            } else if (first == kNoSlot) {
                first = i;
            }
        }
        return first != kNoSlot ? first : same;
    }

    std::int64_t slice_ns_;
    std::int64_t switch_ns_;
    std::int64_t time_ns_ = 0;
    int last_ = kNoSlot;
    int count_ = 0;
    Runner runners_[kMaxSlots];  // in the order of their slots
};

// Adds the turns that are over. Returns what comes after them.
Course settle(State& state, int gpu, std::int64_t now) {
    SlicedEngine& engine = engine_of(state, gpu);
    note_work(engine, turn(engine, engine.turns_total.load()));
    Course course(state, gpu);
    while (course.has_work()) {
        const Turn next = course.next();
        if (next.end_ns > now) break;
        add_turn(engine, next);
        course.pass(next);
    }
    return course;
}

// A call with a time in the past changes nothing before what has been reported to a process.
std::int64_t after_answers(const SlicedEngine& engine, std::int64_t now) {
    return larger(now, engine.answered_ns.load());
}

std::int64_t past_time_of(const SlicedEngine& engine, int slot, std::int64_t work_ps) {
    const std::uint64_t total = engine.turns_total.load();
    const std::uint64_t oldest = oldest_of(total);
    for (std::uint64_t number = total; number >= oldest; number--) {
        const Turn past = turn(engine, number);
        if (past.slot == slot && past.before_ps < work_ps && work_ps <= past.after_ps)
            return past.time_at(work_ps);
    }
    return turn(engine, oldest).start_ns;
}

// The turn in which the slot comes to `work_ps`, which it has booked.
Turn turn_of(Course& course, int slot, std::int64_t work_ps) {
    for (;;) {
        const std::int64_t left_ps = work_ps - course.work_of(slot, work_ps);
        course.skip(smaller(course.whole_rounds(), (left_ps - 1) / course.slice_ps()));
        const Turn next = course.next();
        if (next.slot == slot && next.after_ps >= work_ps) return next;
        course.pass(next);
    }
}

}  // namespace

std::int64_t book(State& state, int gpu, int slot, std::int64_t work_ps, std::int64_t now) {
    SlicedEngine& engine = engine_of(state, gpu);
    TurnBooking& booking = engine.bookings[slot];
    const std::int64_t since = after_answers(engine, now);
    settle(state, gpu, since);
    const std::int64_t until = booking.until_ps.load();
    if (until <= booking.done_ps.load()) booking.since_ns.store(since);
    const std::int64_t after = work_ps < kForever - until ? until + work_ps : kForever;
    booking.until_ps.store(after);
    return after;
}

std::int64_t book_turn(State& state, int gpu, int slot, std::int64_t now) {
    constexpr std::int64_t kLeastPs = 1;
    const SlicedEngine& engine = engine_of(state, gpu);
    const std::int64_t since = after_answers(engine, now);
    const Course course = settle(state, gpu, since);
    const std::int64_t done = engine.bookings[slot].done_ps.load();
    if (engine.bookings[slot].until_ps.load() <= done)
        return book(state, gpu, slot, kLeastPs, since);
    const Turn next = course.next();
    const std::int64_t here = next.slot == slot ? next.work_at(since) : done;
    // Its turn is not over yet, so that it has some work left.
    return here + kLeastPs;
}

void cut_off(State& state, int gpu, int slot, std::int64_t now) {
    SlicedEngine& engine = engine_of(state, gpu);
    TurnBooking& booking = engine.bookings[slot];
    const std::int64_t end = after_answers(engine, now);
    const Course course = settle(state, gpu, end);
    if (booking.until_ps.load() <= booking.done_ps.load()) return;
    const Turn next = course.next();
    if (next.slot == slot && next.from_ns < end) {
        const std::int64_t start = smaller(next.start_ns, end);
        add_turn(engine, {next.from_ns, start, end, next.before_ps, next.work_at(end), slot});
    }
    booking.until_ps.store(booking.done_ps.load());
}

void cut_off_dead(State& state, int gpu, std::int64_t now) {
    const int end = state.file->slots_end.load();
    for (int slot = 0; slot < end; slot++) {
        const TurnBooking& booking = engine_of(state, gpu).bookings[slot];
        if (booking.until_ps.load() <= booking.done_ps.load()) continue;
        if (slot_owner(state, slot) == kNobody) cut_off(state, gpu, slot, now);
    }
}

bool has_work(State& state, int gpu, std::int64_t now) {
    return settle(state, gpu, now).has_work();
}

std::int64_t done_at(State& state, int gpu, int slot, std::int64_t work_ps, std::int64_t now) {
    SlicedEngine& engine = engine_of(state, gpu);
    const TurnBooking& booking = engine.bookings[slot];
    Course course = settle(state, gpu, now);
    if (work_ps >= kForever || work_ps > booking.until_ps.load()) return kNever;
    const std::int64_t at = work_ps <= booking.done_ps.load()
                                ? past_time_of(engine, slot, work_ps)
                                : turn_of(course, slot, work_ps).time_at(work_ps);
    if (at <= now && at > engine.answered_ns.load()) engine.answered_ns.store(at);
    return at;
}

bool has_booked(const State& state, int gpu, int slot) {
    return engine_of(state, gpu).bookings[slot].until_ps.load() > 0;
}

void forget(State& state, int gpu, int slot) {
    TurnBooking& booking = engine_of(state, gpu).bookings[slot];
    booking.before_ps.store(booking.done_ps.load());
}

std::int64_t used_ps(const State& state, int gpu, int slot, std::int64_t now) {
    const TurnBooking& booking = engine_of(state, gpu).bookings[slot];
    Course course(state, gpu);
    while (course.has_work() && course.time_ns() < now) {
        course.skip(smaller(course.whole_rounds(), (now - course.time_ns()) / course.round_ns()));
        const Turn next = course.next();
        if (next.end_ns > now) {
            if (next.slot == slot) return next.work_at(now) - booking.before_ps.load();
            break;
        }
        course.pass(next);
    }
    // Without work it has done all that was booked.
    return course.work_of(slot, booking.until_ps.load()) - booking.before_ps.load();
}

std::int64_t busy_ns(const State& state, int gpu, std::int64_t window_ns, std::int64_t now) {
    const SlicedEngine& engine = engine_of(state, gpu);
    const std::int64_t start = now - window_ns;
    const std::uint64_t total = engine.turns_total.load();
    std::int64_t busy = 0;
    for (std::uint64_t number = total; number >= oldest_of(total); number--) {
        const Turn past = turn(engine, number);
        if (past.end_ns <= start) break;
        busy += past.ns_between(start, now);
    }
    Course course(state, gpu);
    while (course.has_work() && course.time_ns() < now) {
        const std::int64_t rounds =
            smaller(course.whole_rounds(), (now - course.time_ns()) / course.round_ns());
        const std::int64_t before = course.time_ns();
        course.skip(rounds);
        busy += larger(course.time_ns() - larger(before, start), 0);
        const Turn next = course.next();
        busy += next.ns_between(start, now);
        course.pass(next);
    }
    return busy;
}

}  // namespace gpusim::slices
