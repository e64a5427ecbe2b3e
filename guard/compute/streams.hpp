// Work on its way to the GPUs, for each stream: how much of it is queued, and since when.
//
// A program may queue far more work in a stream than its container's permit covers. So the guard
// limits how far the program is ahead of the GPU: it records pacing events between the stream's
// launches (pacing_events.hpp). The distance between two of them is the work that the GPU does in
// kPacingEventNs, as measured between the last two. At most kMaxPacingEvents of them are ahead of
// the GPU. Between two pacing events (about kMaxBatch launches at most), a launch only reads a
// counter.
//
// Work is in flight from its launch until a wait for it returns, or until it is found done. A
// thread that waits for other work finds it done, or the polling thread does (polling_thread.cpp);
// an event behind the work says when it ended. What counts is the time in which any stream has work
// (busy_intervals.hpp). Streams that are being captured do no work, and are left alone.
//
// Any thread. All functions require that begin() has succeeded, except use_burst_budget().
#pragma once

#include "guard/process/devices.hpp"
#include "guard/process/process.hpp"
#include "guard/process/timing.hpp"

namespace tessera::guard {

// The streams that this thread used last, so that most launches need no lookup.
inline constexpr unsigned kLastUsedBits = 4;
struct LastUsed {
    StreamTiming* streams[1U << kLastUsedBits];
};
extern thread_local constinit LastUsed last_used;

// Stream handles are addresses. Fibonacci hashing keeps even those of an array in separate places.
inline StreamTiming*& last_used_place(CUstream stream) {
    const auto address = reinterpret_cast<std::uintptr_t>(stream);
    return last_used.streams[address * 0x9E3779B97F4A7C15U >> (64U - kLastUsedBits)];
}

// Takes one launch from the burst budget, if there is one. Two threads that use one stream may take
// one launch for two.
inline bool take_launch_from_budget(StreamTiming& timing, WorkKind kind) {
    const BurstBudgetFor burst_budget_for = timing.burst_budget_for.load(std::memory_order_relaxed);
    if (burst_budget_for != BurstBudgetFor::all &&
        (kind == WorkKind::kernels || burst_budget_for == BurstBudgetFor::nothing))
        return false;
    const int burst_budget = timing.burst_budget.load(std::memory_order_relaxed);
    if (burst_budget <= 0) return false;
    timing.burst_budget.store(burst_budget - 1, std::memory_order_relaxed);
    return true;
}

// Takes one work item from the burst budget of the stream. False if it has none: a permit is
// needed. This is the function that is called most often by far: no lock, no clock.
inline bool use_burst_budget(CUstream stream, WorkKind kind) {
    StreamTiming* timing = last_used_place(stream);
    if (timing == nullptr || timing->stream.load(std::memory_order_relaxed) != stream) return false;
    return take_launch_from_budget(*timing, kind);
}
// The thread's context has changed, so its default streams are different ones.
inline void forget_last_used() {
    last_used = {};
}

// A call that gives a stream work. From the permit on, for as long as this object lives, the stream
// counts as having work. The thread may not run for a while between the permit and the driver call;
// without this, its stream would seem to be done. A call that uses the burst budget takes no
// permit, so this does not cover it. One of its work items may go uncounted, if the thread stands
// still there for longer than the polling thread takes to look.
class LaunchPermit {
  public:
    LaunchPermit() = default;
    ~LaunchPermit();
    LaunchPermit(const LaunchPermit&) = delete;
    LaunchPermit& operator=(const LaunchPermit&) = delete;

    // Call this once: waits until the stream may get work of that kind, and gives it a burst
    // budget. Returns the driver's error if there is no context, and kNotGuarded if the context's
    // GPU is not the container's.
    [[nodiscard]] CUresult take(CUstream stream, WorkKind kind);

  private:
    bool begin(CUstream stream, const Current& owner, WorkKind kind, bool is_permitted);
    void count(StreamTiming& of);
    void set_pacing_event(StreamTiming& of);

    StreamTiming* of_ = nullptr;
    std::uint64_t generation_ = 0;  // of the stream in that place
    bool has_end_behind_ = false;   // record an event when the call is over
    unsigned pacing_event_ = 0;     // number of the one recorded before the call; 0: none was
    int stands_for_ = 0;            // the number of launches that the measured one represents
};

// What a stream was given so far.
struct Given {
    Current owner;
    std::uint64_t generation = 0;
    unsigned permits = 0;
    int burst_budget = 0;
    Ended by = Ended::waited_for;  // how the end is learned
};

// Around a wait for all work of a stream: call before_wait() before it, and after_wait() after it
// has succeeded. Work that another thread gave the stream meanwhile stays in flight.
Given before_wait(CUstream stream, Ended by = Ended::waited_for);
void after_wait(CUstream stream, const Given& given);

}  // namespace tessera::guard
