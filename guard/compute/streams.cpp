#include "guard/compute/streams.hpp"

#include <pthread.h>

#include "guard/compute/gate.hpp"
#include "guard/compute/watch.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

thread_local constinit LastUsed last_used = {};

namespace {

// Where time is not shared out, it may become so: look again after so many launches. Few, for each
// may be long; and what the driver has queued by then cannot be called back.
constexpr int kUntimedCredit = 64;
constexpr int kMaxBatch = 1024;
// A piece of work is measured by events, if the last one was so long that these cost nothing beside
// it; of shorter ones every so many, and the others are taken to have been as much shorter than the
// clock said.
constexpr std::int64_t kLongPieceNs = 500'000;
constexpr unsigned kSampleEvery = 16;
constexpr std::int64_t kMaxOverheadNs = 1'000'000;

bool is_default(CUstream stream) {
    return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

pthread_t thread_of(CUstream stream) {
    return stream == CU_STREAM_PER_THREAD ? pthread_self() : 0;
}

template <typename Body>
void for_each_stream(const Body& body) {
    Timing& all = timing();
    for (int i = 0; i < all.stream_count; i++)
        if (!all.streams[i].is_gone) body(all.streams[i]);
}

// Null where there is none.
StreamTiming* find(CUstream stream, CUcontext context) {
    StreamTiming* found = nullptr;
    for_each_stream([&](StreamTiming& each) {
        if (each.stream.load(std::memory_order_relaxed) != stream) return;
        if (is_default(stream) && (each.context != context || each.thread != thread_of(stream)))
            return;
        found = &each;
    });
    return found;
}

StreamTiming* free_place() {
    Timing& all = timing();
    for (int i = 0; i < all.stream_count; i++)
        if (all.streams[i].is_gone) return &all.streams[i];
    return all.stream_count < kMaxStreams ? &all.streams[all.stream_count++] : nullptr;
}

StreamTiming* find_or_add(CUstream stream, const Current& current) {
    if (StreamTiming* known = find(stream, current.context); known != nullptr) return known;
    StreamTiming* made = free_place();
    if (made == nullptr) return nullptr;
    made->is_gone = false;
    made->context = current.context;
    made->thread = thread_of(stream);
    made->card = current.card;
    made->on_their_way = 0;
    made->generation++;
    made->batch = 1;
    made->stream.store(stream, std::memory_order_relaxed);
    return made;
}

// Without them there is nothing to measure by.
bool has_events() {
    const Driver& real = *driver();
    return real.cuEventCreate && real.cuEventRecord && real.cuEventQuery &&
           real.cuEventSynchronize && real.cuEventElapsedTime && real.cuStreamQuery;
}

// Our own questions are not the program's: a capture that forbids them elsewhere is none of ours.
class Relaxed {
  public:
    Relaxed() { exchange(); }
    ~Relaxed() { exchange(); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    void exchange() {
        const auto& change = driver()->cuThreadExchangeStreamCaptureMode;
        if (change) change(&mode_);
    }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

CUevent event_in(CUevent& place) {
    if (place == nullptr && driver()->cuEventCreate(&place, CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS)
        place = nullptr;
    return place;
}

void start(StreamTiming& of, WorkKind kind) {
    Timing& all = timing();
    const std::int64_t now = monotonic_ns();
    of.is_in_flight = true;
    of.kind = kind;
    of.began_ns = now;
    of.has_last = false;
    of.is_sampled = false;
    if (all.in_flight[of.card][static_cast<int>(kind)]++ == 0) begin_flight(of.card, kind, now);
    if (of.last_piece_ns < kLongPieceNs && all.pieces_total++ % kSampleEvery != 0) return;
    of.is_sampled = event_in(of.sample_start) != nullptr && event_in(of.sample_end) != nullptr &&
                    driver()->cuEventRecord(of.sample_start, of.stream.load()) == CUDA_SUCCESS;
}

// How much longer a piece of work was by the clock than for the card.
std::int64_t excess_ns(StreamTiming& of, std::int64_t now) {
    std::int64_t& known = timing().overhead_ns;
    float ms = 0;
    if (!of.is_end_recorded ||
        driver()->cuEventElapsedTime(&ms, of.sample_start, of.sample_end) != CUDA_SUCCESS)
        return known;
    of.last_piece_ns = static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
    const std::int64_t excess = now - of.began_ns - of.last_piece_ns;
    if (excess < 0) return 0;
    // More than that is a thread that was not running.
    if (excess < kMaxOverheadNs) known = known == 0 ? excess : known + (excess - known) / 4;
    return excess;
}

// `excess` is what of its time was not the card's.
void end(StreamTiming& of, std::int64_t now, std::int64_t excess) {
    if (!of.is_in_flight) return;
    of.is_in_flight = false;
    of.credit.store(0, std::memory_order_relaxed);
    of.mark_count = 0;
    of.since_mark = 0;
    of.has_last = false;
    of.is_sampled = false;
    of.is_end_recorded = false;
    Timing& all = timing();
    if (--all.in_flight[of.card][static_cast<int>(of.kind)] == 0)
        end_flight(of.card, of.kind, now, excess);
}

// Nobody waited for it.
void end(StreamTiming& of) {
    end(of, monotonic_ns(), timing().overhead_ns);
}

bool is_done(const StreamTiming& of) {
    return of.on_their_way == 0 && driver()->cuStreamQuery(of.stream.load()) == CUDA_SUCCESS;
}

// It was waited for, by a wait that began after before_wait().
void end_waited_for(StreamTiming& of) {
    if (of.on_their_way > 0) return;
    const std::int64_t now = monotonic_ns();
    end(of, now, of.is_in_flight ? excess_ns(of, now) : 0);
}

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

// Takes out the marks that are reached.
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
    if (event_in(of.marks[place]) == nullptr) return;
    if (driver()->cuEventRecord(of.marks[place], of.stream.load()) != CUDA_SUCCESS) return;
    of.launches[place] = of.since_mark;
    of.mark_count++;
    of.since_mark = 0;
}

// Waits for the first mark, and takes out those that are reached. Without the lock meanwhile:
// others go on. False where that led nowhere: the driver has an error to tell to whoever asks it
// next.
bool pass_first_mark(StreamTiming& of) {
    const CUevent mark = of.marks[mark_place(of, 0)];
    const int before = of.mark_count;
    pthread_mutex_unlock(&timing().mutex);
    driver()->cuEventSynchronize(mark);
    pthread_mutex_lock(&timing().mutex);
    harvest(of);
    return of.mark_count < before;
}

void forget(StreamTiming& of) {
    end(of);
    of.credit.store(0, std::memory_order_relaxed);
    for (CUevent& mark : of.marks)
        mark = nullptr;
    of.sample_start = nullptr;
    of.sample_end = nullptr;
    of.is_gone = true;
}

void destroy_events(const StreamTiming& of) {
    for (CUevent mark : of.marks)
        if (mark != nullptr) driver()->cuEventDestroy_v2(mark);
    for (CUevent sample : {of.sample_start, of.sample_end})
        if (sample != nullptr) driver()->cuEventDestroy_v2(sample);
}

// What is asked in the thread's own context is of a stream of it.
StreamTiming* find_current_stream(CUstream stream) {
    CUcontext context = nullptr;
    if (is_default(stream) && driver()->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
    return find(stream, context);
}

// The end of what is to be measured.
void record_end(StreamTiming& of) {
    of.is_end_recorded =
        of.is_sampled && driver()->cuEventRecord(of.sample_end, of.stream.load()) == CUDA_SUCCESS;
}

// Waits until the stream has done all that it was given, and so knows when that was.
void drain(StreamTiming& of) {
    const Locked lock(timing().mutex);
    if (!of.is_in_flight) return;
    const Relaxed relaxed;
    harvest(of);
    if (of.mark_count == kMaxMarks && !pass_first_mark(of)) return end(of);
    record_end(of);
    add_mark(of);
    while (of.mark_count > 0) {
        if (!pass_first_mark(of)) return end(of);
    }
    end_waited_for(of);
}

// What the card is about to do for a stream.
std::int64_t ahead_ns(StreamTiming& of) {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    harvest(of);
    int launches = of.is_in_flight ? of.since_mark - of.credit.load(std::memory_order_relaxed) : 0;
    for (int i = 0; i < of.mark_count; i++)
        launches += of.launches[mark_place(of, i)];
    return static_cast<std::int64_t>(of.each_ns * launches);
}

// In turn with the neighbours on the card.
void wait_for_turn(StreamTiming* of, int card, WorkKind kind) {
    if (time_to_turn(card, kind, of != nullptr ? ahead_ns(*of) : 0) == 0) return;
    const Waiting waiting(card);
    if (of != nullptr) drain(*of);
    while (const std::int64_t ns = time_to_turn(card, kind, 0))
        sleep_ns(ns);
}

StreamTiming* find_or_add_locked(CUstream stream, const Current& current) {
    const Locked lock(timing().mutex);
    return find_or_add(stream, current);
}

}  // namespace

CUresult Turn::take(CUstream stream, WorkKind kind) {
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream)) return CUDA_SUCCESS;
    const bool timed = is_timed(current.card) && has_events();
    StreamTiming* of = find_or_add_locked(stream, current);
    if (timed) wait_for_turn(of, current.card, kind);
    if (of == nullptr) return CUDA_SUCCESS;
    const Locked lock(timing().mutex);
    last_used = {stream, of};
    if (!timed) {
        of->credit.store(kUntimedCredit, std::memory_order_relaxed);
        return CUDA_SUCCESS;
    }
    const Relaxed relaxed;
    harvest(*of);
    if (of->is_in_flight && of->kind == WorkKind::copies && kind == WorkKind::kernels) end(*of);
    if (!of->is_in_flight) {
        start(*of, kind);
        need_watch();
    }
    // Before pass_first_mark() lets others in.
    of_ = of;
    generation_ = of->generation;
    of->on_their_way++;
    if (of->since_mark > 0) {
        if (of->mark_count == kMaxMarks && !pass_first_mark(*of)) {
            end(*of);
            return CUDA_SUCCESS;
        }
        add_mark(*of);
    }
    of->since_mark += of->batch;
    of->credit.store(of->batch - 1, std::memory_order_relaxed);
    return CUDA_SUCCESS;
}

// The stream may be gone meanwhile, and another one in its place, which has turns of its own.
Turn::~Turn() {
    if (of_ == nullptr) return;
    const Locked lock(timing().mutex);
    if (of_->generation == generation_) of_->on_their_way--;
}

void before_wait(CUstream stream) {
    const Locked lock(timing().mutex);
    StreamTiming* of = find_current_stream(stream);
    if (of != nullptr && of->is_in_flight && !is_capturing(stream)) record_end(*of);
}

void after_wait(CUstream stream) {
    const Locked lock(timing().mutex);
    StreamTiming* of = find_current_stream(stream);
    if (of != nullptr) end_waited_for(*of);
}

void after_wait_for_context() {
    CUcontext context = nullptr;
    if (driver()->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return;
    const Locked lock(timing().mutex);
    for_each_stream([context](StreamTiming& each) {
        if (each.context == context) end_waited_for(each);
    });
}

void look_for_ended() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    for_each_stream([](StreamTiming& each) {
        const CUstream stream = each.stream.load();
        if (!each.is_in_flight || each.thread != thread_of(stream) || is_capturing(stream)) return;
        if (is_done(each)) end(each);
    });
}

bool watch_streams() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    bool is_any_in_flight = false;
    for_each_stream([&](StreamTiming& each) {
        const CUstream stream = each.stream.load();
        // Nobody can ask for another thread's default stream.
        if (!each.is_in_flight || stream == CU_STREAM_PER_THREAD) return;
        is_any_in_flight = true;
        if (driver()->cuCtxSetCurrent(each.context) != CUDA_SUCCESS) return;
        harvest(each);
        if (each.mark_count > 0 || is_capturing(stream)) return;
        if (is_done(each)) end(each);
    });
    return is_any_in_flight;
}

void forget_stream(CUstream stream) {
    const Locked lock(timing().mutex);
    if (is_default(stream)) return;
    StreamTiming* of = find(stream, nullptr);
    if (of == nullptr) return;
    destroy_events(*of);
    forget(*of);
}

// Their events end with the context.
void forget_streams_of(CUcontext context) {
    const Locked lock(timing().mutex);
    for_each_stream([context](StreamTiming& each) {
        if (each.context == context) forget(each);
    });
}

}  // namespace tessera::guard
