#include "guard/compute/marks.hpp"

#include "guard/compute/in_context.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

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

void harvest(StreamTiming& of) {
    while (of.mark_count > 0) {
        const int place = mark_place(of, 0);
        if (driver()->cuEventQuery(of.marks[place]) != CUDA_SUCCESS) return;
        float ms = 0;
        if (of.has_last && driver()->cuEventElapsedTime(&ms, of.marks[mark_place(of, -1)],
                                                        of.marks[place]) == CUDA_SUCCESS)
            learn_batch(of, of.launches[place], ms);
        of.has_last = true;
        of.first_mark = mark_place(of, 1);
        of.mark_count--;
    }
}

void add_mark(StreamTiming& of) {
    const int place = mark_place(of, of.mark_count);
    if (event_in(of.marks[place], of) == nullptr) return;
    if (driver()->cuEventRecord(of.marks[place], of.stream.load()) != CUDA_SUCCESS) return;
    of.launches[place] = of.since_mark;
    of.mark_count++;
    of.since_mark = 0;
}

bool pass_first_mark(StreamTiming& of) {
    const CUevent mark = of.marks[mark_place(of, 0)];
    const int before = of.mark_count;
    pthread_mutex_unlock(&timing().mutex);
    driver()->cuEventSynchronize(mark);
    pthread_mutex_lock(&timing().mutex);
    harvest(of);
    return of.mark_count < before;
}

int launches_ahead(const StreamTiming& of) {
    int launches = of.is_in_flight ? of.since_mark - of.credit.load(std::memory_order_relaxed) : 0;
    for (int i = 0; i < of.mark_count; i++)
        launches += of.launches[mark_place(of, i)];
    return launches;
}

}  // namespace tessera::guard
