#include "guard/compute/marks.hpp"

#include "guard/compute/gate.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

// A wait for an event has no end of its own, so it is asked for.
constexpr std::int64_t kFirstPauseNs = 20'000;
constexpr std::int64_t kLongestPauseNs = 500'000;

// So that the next mark is as far away as it should be.
void learn_batch(StreamTiming& of, int launches, float ms) {
    const double each_ns = static_cast<double>(ms) * 1e6 / launches;
    of.each_ns = each_ns;
    const double wanted = each_ns > 1 ? static_cast<double>(kMarkNs) / each_ns : kMaxBatch;
    const int most = 2 * of.batch < kMaxBatch ? 2 * of.batch : kMaxBatch;
    of.batch = wanted < 1 ? 1 : wanted > most ? most : static_cast<int>(wanted);
}

int mark_place(const StreamTiming& of, int number) {
    return (of.first_mark + number + kMaxMarks + 1) % (kMaxMarks + 1);
}

}  // namespace

CUevent event_in(CUevent& place, const StreamTiming& of) {
    if (place != nullptr) return place;
    const InContext there(of.context);
    if (driver()->cuEventCreate(&place, CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS) place = nullptr;
    return place;
}

CUresult harvest(StreamTiming& of) {
    while (of.mark_count > 0) {
        const int place = mark_place(of, 0);
        const CUresult asked = driver()->cuEventQuery(of.marks[place]);
        if (asked != CUDA_SUCCESS) return asked;
        float ms = 0;
        if (of.has_last && driver()->cuEventElapsedTime(&ms, of.marks[mark_place(of, -1)],
                                                        of.marks[place]) == CUDA_SUCCESS)
            learn_batch(of, of.launches[place], ms);
        of.has_last = true;
        of.first_mark = mark_place(of, 1);
        of.mark_count--;
    }
    return CUDA_SUCCESS;
}

void add_mark(StreamTiming& of) {
    const int place = mark_place(of, of.mark_count);
    if (event_in(of.marks[place], of) == nullptr) return;
    if (driver()->cuEventRecord(of.marks[place], of.stream.load()) != CUDA_SUCCESS) return;
    of.launches[place] = of.since_mark;
    of.mark_count++;
    of.since_mark = 0;
}

Passed pass_first_mark(StreamTiming& of, std::int64_t until_ns) {
    const std::uint64_t generation = of.generation;
    std::int64_t pause_ns = kFirstPauseNs;
    for (;;) {
        const int before = of.mark_count;
        const CUresult first = harvest(of);
        if (of.mark_count < before || of.mark_count == 0) return Passed::reached;
        if (first != CUDA_ERROR_NOT_READY) return Passed::failed;
        if (monotonic_ns() >= until_ns) return Passed::late;
        pthread_mutex_unlock(&timing(of.card).mutex);
        sleep_ns(pause_ns);
        pthread_mutex_lock(&timing(of.card).mutex);
        if (of.generation != generation || of.is_gone) return Passed::gone;
        pause_ns = pause_ns * 2 < kLongestPauseNs ? pause_ns * 2 : kLongestPauseNs;
    }
}

int launches_ahead(const StreamTiming& of) {
    int launches = of.is_in_flight ? of.since_mark - of.credit.load(std::memory_order_relaxed) : 0;
    for (int i = 0; i < of.mark_count; i++)
        launches += of.launches[mark_place(of, i)];
    return launches;
}

}  // namespace tessera::guard
