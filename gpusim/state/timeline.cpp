#include "gpusim/state/timeline.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "gpusim/state/compute_mode.hpp"
#include "gpusim/state/slices.hpp"

namespace gpusim {
namespace {

__extension__ using Wide = __int128;

// Work that never ends.
constexpr std::int64_t kForever = slices::kForever;
// What a slot has done by time slices is returned as this and more.
constexpr std::int64_t kSliced = kForever + 1;

struct At {
    std::int64_t time_ns;
    std::int64_t work_ps;
};

EngineState& engine_of(State& state, EngineId id) {
    return state.file->engines[id.gpu][static_cast<int>(id.engine)];
}

const EngineState& engine_of(const State& state, EngineId id) {
    return state.file->engines[id.gpu][static_cast<int>(id.engine)];
}

At moment(const EngineState& engine, std::uint64_t number) {
    if (number == 0) return {0, 0};
    const Moment& at = engine.moments[number % kMoments];
    return {at.time_ns.load(), at.work_ps.load()};
}

At newest(const EngineState& engine) {
    return moment(engine, engine.moments_total.load());
}

void add_moment(EngineState& engine, At at) {
    const std::uint64_t number = engine.moments_total.load() + 1;
    Moment& place = engine.moments[number % kMoments];
    place.time_ns.store(at.time_ns);
    place.work_ps.store(at.work_ps);
    engine.moments_total.store(number);
}

// The processes with work beyond a point: their demand together, and where the first is done.
struct Load {
    std::int64_t demand = 0;
    std::int64_t first_until = kNever;
};

Load load_beyond(const State& state, EngineId id, std::int64_t work_ps) {
    const EngineState& engine = engine_of(state, id);
    const int end = state.file->slots_end.load();
    Load load;
    std::int64_t processes = 0;
    std::uint64_t server = 0;
    bool takes_turns = false;
    for (int slot = 0; slot < end; slot++) {
        const Booking& booking = engine.bookings[slot];
        const std::int64_t until = booking.until_ps.load();
        if (until <= work_ps) continue;
        load.demand += booking.demand.load();
        if (until < load.first_until) load.first_until = until;
        const std::uint64_t other = state.file->slots[slot].mps_server.load();
        takes_turns |= processes > 0 && (other == 0 || other != server);
        server = other;
        processes++;
    }
    if (takes_turns && state.file->gpus[id.gpu].sharing.load() == Sharing::turns)
        load.demand = processes * kWholeEngine;
    return load;
}

// Divides the engine's rate for each process. No process runs faster than alone.
std::int64_t divisor_of(std::int64_t demand) {
    return demand > kWholeEngine ? demand : kWholeEngine;
}

std::int64_t work_in(std::int64_t ns, std::int64_t demand) {
    return static_cast<std::int64_t>(static_cast<Wide>(ns) * kPsPerNs * kWholeEngine /
                                     divisor_of(demand));
}

// Rounded up: when the time is over, the work is done.
std::int64_t time_of(std::int64_t work_ps, std::int64_t demand) {
    const auto whole = static_cast<Wide>(kPsPerNs) * kWholeEngine;
    return static_cast<std::int64_t>((static_cast<Wide>(work_ps) * divisor_of(demand) + whole - 1) /
                                     whole);
}

// Passes the points where a process's work is done until `now`. Returns how far the engine has come
// by then.
template <typename OnDone>
std::int64_t pass(const State& state, EngineId id, std::int64_t now, const OnDone& on_done) {
    At at = newest(engine_of(state, id));
    for (;;) {
        const Load load = load_beyond(state, id, at.work_ps);
        if (load.demand == 0 || now <= at.time_ns) return at.work_ps;
        const bool ends = load.first_until < kForever;
        const std::int64_t end =
            ends ? at.time_ns + time_of(load.first_until - at.work_ps, load.demand) : kNever;
        if (end > now) return at.work_ps + work_in(now - at.time_ns, load.demand);
        at = {end, load.first_until};
        on_done(at);
    }
}

std::int64_t settle(State& state, EngineId id, std::int64_t now) {
    EngineState& engine = engine_of(state, id);
    return pass(state, id, now, [&engine](At at) { add_moment(engine, at); });
}

// From here on the rate may differ.
std::int64_t change_rate(State& state, EngineId id, std::int64_t now) {
    const std::int64_t work = settle(state, id, now);
    EngineState& engine = engine_of(state, id);
    const At at = newest(engine);
    const std::int64_t time = now > at.time_ns ? now : at.time_ns;
    if (time != at.time_ns || work != at.work_ps || engine.moments_total.load() == 0)
        add_moment(engine, {time, work});
    return work;
}

std::int64_t of_whole_engine(std::int64_t work_ps, std::uint32_t demand) {
    return static_cast<std::int64_t>(static_cast<Wide>(work_ps) * demand / kWholeEngine);
}

bool may_be_sliced(const State& state, EngineId id) {
    return id.engine == Engine::compute && state.file->gpus[id.gpu].time_slice_ns > 0;
}

}  // namespace

bool is_sliced(const State& state, EngineId id) {
    return may_be_sliced(state, id) && state.file->gpus[id.gpu].sharing.load() == Sharing::turns;
}

bool is_sliced(const State& state, EngineId id, int slot) {
    return is_sliced(state, id) && !is_mps_client(state, slot);
}

std::int64_t monotonic_ns() {
    timespec now = {};
    // A GPU's clock is independent of a clock function that the program provides in place of
    // libc's.
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1000000000} + now.tv_nsec;
}

EngineLock::EngineLock(State& state, EngineId id)
    : state_(state), byte_(kEngineLocks + off_t{id.gpu} * kEngines + static_cast<int>(id.engine)) {
    lock_byte(state_.locks_fd, byte_);
}

EngineLock::~EngineLock() {
    unlock_byte(state_.locks_fd, byte_);
}

std::int64_t book(State& state, EngineId id, int slot, Work work, std::int64_t now) {
    if (is_sliced(state, id, slot))
        return kSliced + slices::book(state, id.gpu, slot, work.work_ps, now);
    // By turns, each process has the whole engine during its turn.
    const bool takes_turns = state.file->gpus[id.gpu].sharing.load() == Sharing::turns;
    if (takes_turns && !is_mps_client(state, slot)) work.demand = kWholeEngine;
    Booking& booking = engine_of(state, id).bookings[slot];
    std::int64_t at = settle(state, id, now);
    const bool has_work = booking.until_ps.load() > at;
    if (!has_work || booking.demand.load() != work.demand) at = change_rate(state, id, now);
    if (!has_work) {
        const std::int64_t done = booking.until_ps.load() - booking.since_ps.load();
        booking.before_ps.store(booking.before_ps.load() +
                                of_whole_engine(done, booking.demand.load()));
        booking.since_ps.store(at);
    }
    const std::int64_t from = has_work ? booking.until_ps.load() : at;
    const std::int64_t until = work.work_ps == kNever ? kForever : from + work.work_ps;
    booking.demand.store(work.demand);
    booking.until_ps.store(until < kForever ? until : kForever);
    return until < kForever ? until : kForever;
}

std::int64_t book_turn(State& state, EngineId id, int slot, std::int64_t now) {
    return kSliced + slices::book_turn(state, id.gpu, slot, now);
}

void cut_off(State& state, EngineId id, int slot, std::int64_t now) {
    Booking& booking = engine_of(state, id).bookings[slot];
    if (is_sliced(state, id)) {
        slices::cut_off(state, id.gpu, slot, now);
        if (booking.until_ps.load() == 0) return;  // it never was a client of MPS
    }
    const std::int64_t at = change_rate(state, id, now);
    if (booking.until_ps.load() > at) booking.until_ps.store(at);
}

void cut_off_dead(State& state, EngineId id, std::int64_t now) {
    if (is_sliced(state, id)) slices::cut_off_dead(state, id.gpu, now);
    const std::int64_t at = settle(state, id, now);
    const int end = state.file->slots_end.load();
    for (int slot = 0; slot < end; slot++) {
        if (engine_of(state, id).bookings[slot].until_ps.load() <= at) continue;
        if (is_over(state, slot)) cut_off(state, id, slot, now);
    }
}

void cut_off_dead(State& state, int gpu) {
    for (const Engine engine : {Engine::compute, Engine::copies}) {
        const EngineId id = {gpu, engine};
        const EngineLock lock(state, id);
        cut_off_dead(state, id, monotonic_ns());
    }
}

std::int64_t done_at(State& state, EngineId id, int slot, std::int64_t work_ps, std::int64_t now) {
    if (work_ps >= kSliced) return slices::done_at(state, id.gpu, slot, work_ps - kSliced, now);
    if (work_ps >= kForever) return kNever;
    const std::int64_t here = settle(state, id, now);
    const EngineState& engine = engine_of(state, id);
    std::uint64_t number = engine.moments_total.load();
    At at = moment(engine, number);
    if (work_ps > at.work_ps) {
        // Not done yet: processes that are done before it leave it a larger part of the engine.
        std::int64_t time = at.time_ns;
        std::int64_t from = at.work_ps;
        for (;;) {
            const Load load = load_beyond(state, id, from);
            if (load.demand == 0) return here >= work_ps ? time : kNever;
            const std::int64_t to = load.first_until < work_ps ? load.first_until : work_ps;
            time += time_of(to - from, load.demand);
            if (to == work_ps) return time;
            from = to;
        }
    }
    const std::uint64_t oldest = oldest_of(number);
    while (number > oldest) {
        const At before = moment(engine, number - 1);
        if (before.work_ps < work_ps) {
            const auto way = static_cast<Wide>(work_ps - before.work_ps) *
                             (at.time_ns - before.time_ns) / (at.work_ps - before.work_ps);
            return before.time_ns + static_cast<std::int64_t>(way);
        }
        at = before;
        number--;
    }
    return at.time_ns;
}

std::int64_t used_ps(const State& state, EngineId id, int slot, std::int64_t now) {
    const EngineState& engine = engine_of(state, id);
    const Booking& booking = engine.bookings[slot];
    const std::int64_t here = pass(state, id, now, [](At) {});
    const std::int64_t until = booking.until_ps.load();
    const std::int64_t done = (here < until ? here : until) - booking.since_ps.load();
    const std::uint32_t demand = booking.demand.load();
    const std::int64_t sliced =
        may_be_sliced(state, id) ? slices::used_ps(state, id.gpu, slot, now) : 0;
    return sliced + booking.before_ps.load() + (done > 0 ? of_whole_engine(done, demand) : 0);
}

std::int64_t busy_ns(const State& state, EngineId id, std::int64_t window_ns, std::int64_t now) {
    const EngineState& engine = engine_of(state, id);
    const std::int64_t start = now - window_ns;
    std::uint64_t number = engine.moments_total.load();
    const std::uint64_t oldest = oldest_of(number);
    At at = moment(engine, number);
    std::int64_t busy =
        may_be_sliced(state, id) ? slices::busy_ns(state, id.gpu, window_ns, now) : 0;
    if (const Load load = load_beyond(state, id, at.work_ps); load.demand > 0)
        busy += now - (at.time_ns > start ? at.time_ns : start);
    for (; number > oldest && at.time_ns > start; number--) {
        const At before = moment(engine, number - 1);
        if (before.work_ps < at.work_ps)
            busy += at.time_ns - (before.time_ns > start ? before.time_ns : start);
        at = before;
    }
    return busy;
}

void clear_bookings(State& state, int slot) {
    for (std::uint32_t gpu = 0; gpu < state.file->gpu_count; gpu++) {
        for (const Engine engine : {Engine::compute, Engine::copies}) {
            const EngineId id = {static_cast<int>(gpu), engine};
            Booking& booking = engine_of(state, id).bookings[slot];
            const bool has_turns =
                may_be_sliced(state, id) && slices::has_booked(state, id.gpu, slot);
            if (booking.until_ps.load() == 0 && !has_turns) continue;
            const EngineLock lock(state, id);
            cut_off(state, id, slot, monotonic_ns());
            booking.since_ps.store(booking.until_ps.load());
            booking.before_ps.store(0);
            if (has_turns) slices::forget(state, id.gpu, slot);
        }
    }
}

bool set_sharing(State& state, int gpu, Sharing sharing) {
    const EngineId id = {gpu, Engine::compute};
    const EngineLock lock(state, id);
    const std::int64_t now = monotonic_ns();
    if (may_be_sliced(state, id)) {
        // What was booked in one way cannot go on in the other.
        cut_off_dead(state, id, now);
        if (is_sliced(state, id) && slices::has_work(state, gpu, now)) return false;
        if (load_beyond(state, id, settle(state, id, now)).demand > 0) return false;
    }
    change_rate(state, id, now);
    state.file->gpus[gpu].sharing.store(sharing);
    return true;
}

}  // namespace gpusim
