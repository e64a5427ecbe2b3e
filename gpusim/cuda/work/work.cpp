#include "gpusim/cuda/work/work.hpp"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <ctime>

#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/runner.hpp"

namespace gpusim {
namespace {

using Place = Operation::Place;
using Progress = Operation::Progress;

// How far a program may be ahead of a stream; the real driver allows some 1,000 launches.
constexpr int kMaxPending = 1024;
// When a neighbour dies, work is done earlier than was predicted.
constexpr std::int64_t kLookAgainNs = 5'000'000;

std::int64_t earlier(std::int64_t one, std::int64_t other) {
    return one < other ? one : other;
}

Context& context_of(const Operation& operation) {
    return *operation.stream->context;
}

bool is_on(const Operation& operation, EngineId id) {
    return operation.progress == Progress::booked && operation.place != Place::host &&
           operation.id.engine == id.engine && operation.id.gpu == id.gpu;
}

constinit std::atomic<std::uint32_t> bell = 0;  // a futex
constinit std::atomic<int> sleepers = 0;

void look_for_dead() {
    for (int device = 0; device < driver.devices.count; device++)
        cut_off_dead(driver.state, driver.devices.gpus[device]);
}

// The state of the operations that must be done before an operation.
struct Before {
    bool are_all_done = true;
    bool are_on_one_engine = true;  // or done
    EngineId engine = {};
    std::int64_t until_ps = 0;
    std::int64_t done_ns = 0;
};

void look_at(Before& before, const Operation* operation) {
    if (operation == nullptr) return;
    // A marker with nothing before it has been reached, even if no call has checked it.
    const bool is_reached = operation->progress == Progress::booked && operation->is_point;
    if (operation->progress == Progress::done || is_reached) {
        if (operation->done_ns > before.done_ns) before.done_ns = operation->done_ns;
        return;
    }
    const bool is_first = before.are_all_done;
    before.are_all_done = false;
    if (operation->progress != Progress::booked || operation->place == Place::host ||
        (!is_first && !is_on(*operation, before.engine))) {
        before.are_on_one_engine = false;
        return;
    }
    before.engine = operation->id;
    if (operation->until_ps > before.until_ps) before.until_ps = operation->until_ps;
}

Before before(const Operation& operation) {
    Before before;
    look_at(before, operation.previous);
    for (int i = 0; i < operation.other_count; i++)
        look_at(before, operation.others[i]);
    return before;
}

void take_fault(Operation& operation) {
    if (operation.id.engine != Engine::compute || operation.work.work_ps == 0) return;
    auto& ordered = driver.state.file->gpus[operation.id.gpu].next_kernel;
    if (ordered.load() == KernelFault::none) return;
    operation.fault = ordered.exchange(KernelFault::none);
    if (operation.fault == KernelFault::hang) operation.work.work_ps = kNever;
}

// On a GPU with time slices, a marker is reached in a turn of its process, as an H100's events are.
bool waits_for_turn(Operation& operation, std::int64_t begin) {
    const EngineId id = {context_of(operation).gpu, Engine::compute};
    if (!is_sliced(driver.state, id, driver.slot)) return false;
    const EngineLock lock(driver.state, id);
    if (!is_sliced(driver.state, id, driver.slot))
        return false;  // changed before this had the lock
    operation.id = id;
    operation.until_ps = book_turn(driver.state, id, driver.slot, begin);
    return true;
}

// Books it, or finds that it is done, if the operations before it allow that.
void try_start(Operation& operation, std::int64_t now) {
    const Before what = before(operation);
    const std::int64_t ready = what.done_ns > operation.done_ns ? what.done_ns : operation.done_ns;
    if (operation.place == Place::engine) {
        const bool is_ready =
            what.are_all_done || (what.are_on_one_engine && what.engine.gpu == operation.id.gpu &&
                                  what.engine.engine == operation.id.engine);
        if (!is_ready) return;
        take_fault(operation);
        // The GPU began when the operations before it were done, however late this call checks.
        const std::int64_t begin = what.are_all_done ? earlier(ready, now) : now;
        const EngineLock lock(driver.state, operation.id);
        operation.until_ps = book(driver.state, operation.id, driver.slot, operation.work, begin);
        operation.progress = Progress::booked;
    } else if (operation.place == Place::marker) {
        if (!what.are_on_one_engine) return;
        operation.id = what.engine;
        operation.until_ps = what.until_ps;
        operation.done_ns = ready;
        operation.is_point = what.are_all_done && !waits_for_turn(operation, earlier(ready, now));
        operation.progress = Progress::booked;
    } else if (what.are_all_done) {
        operation.progress = Progress::booked;
        call_host(operation);
    }
}

CUresult error_of(KernelFault fault) {
    switch (fault) {
        case KernelFault::none:
        case KernelFault::hang:
            return CUDA_SUCCESS;
        case KernelFault::illegal_address:
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        case KernelFault::uncorrectable_ecc:
            return CUDA_ERROR_ECC_UNCORRECTABLE;
    }
    return CUDA_SUCCESS;
}

// When it is or will be done; kNever if that depends on others.
std::int64_t due_at(const Operation& operation, std::int64_t now) {
    if (operation.progress != Progress::booked || operation.place == Place::host) return kNever;
    if (operation.is_point) return operation.done_ns;
    const EngineLock lock(driver.state, operation.id);
    const std::int64_t done =
        done_at(driver.state, operation.id, driver.slot, operation.until_ps, now);
    const bool is_marker = operation.place == Operation::Place::marker;
    return is_marker && operation.done_ns > done ? operation.done_ns : done;
}

void move_on(Stream& stream, std::int64_t now) {
    while (stream.first != nullptr) {
        Operation& operation = *stream.first;
        if (stream.context->error != CUDA_SUCCESS) {
            if (operation.is_called) break;
            finish(operation, now);
            continue;
        }
        if (operation.progress == Progress::waiting) try_start(operation, now);
        const std::int64_t due = due_at(operation, now);
        if (due > now) break;
        finish(operation, due);
    }
    // Operations behind the first may be bookable although it is not done.
    for (Operation* operation = stream.first; operation != nullptr; operation = operation->next) {
        if (operation->progress != Progress::waiting) continue;
        try_start(*operation, now);
        if (operation->progress == Progress::waiting) break;
    }
}

// Each context of this process that has streams.
template <typename Body>
void for_each_context(const Body& body) {
    for (int device = 0; device < driver.devices.count; device++)
        body(driver.primary[device].context);
    for (Context* context = driver.contexts; context != nullptr; context = context->next)
        body(*context);
}

template <typename Body>
void for_each_stream(const Body& body) {
    for_each_context([&body](Context& context) {
        for (Stream* stream = context.streams; stream != nullptr; stream = stream->next)
            if (stream->first != nullptr) body(*stream);
    });
}

bool is_hopeless(const Context& context) {
    return context.error != CUDA_SUCCESS || !context.alive || is_lost(context.gpu);
}

bool has_hung_kernel(const Stream& stream) {
    for (const Operation* each = stream.first; each != nullptr; each = each->next)
        if (each->fault == KernelFault::hang) return true;
    return false;
}

// Waits for a host function that is being called, because it returns to its operation.
void drop_all(Stream& stream) {
    while (Operation* first = stream.first) {
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): finish() has moved on
        if (first->is_called) {
            sleep_until(monotonic_ns() + kLookAgainNs);
        } else {
            finish(*first, monotonic_ns());
        }
    }
}

Stream* find_default(Context& context, pid_t thread) {
    for (Stream* stream = context.streams; stream != nullptr; stream = stream->next)
        if (stream->alive && stream->is_default && stream->thread == thread) return stream;
    return nullptr;
}

CUresult find_or_make_default(Context& context, pid_t thread, Stream** stream) {
    *stream = find_default(context, thread);
    if (*stream != nullptr) return CUDA_SUCCESS;
    const CUresult result = make_stream(context, 0, stream);
    if (result != CUDA_SUCCESS) return result;
    (*stream)->is_default = true;
    (*stream)->thread = thread;
    return CUDA_SUCCESS;
}

bool is_legacy(const Stream& stream) {
    return stream.is_default && stream.thread == 0;
}

bool is_blocking(const Stream& stream) {
    return (stream.flags & CU_STREAM_NON_BLOCKING) == 0;
}

// The program's default stream and the streams that are not created as non-blocking wait for each
// other.
bool waits_for(const Stream& stream, const Stream& other) {
    if (&stream == &other || other.last == nullptr) return false;
    if (is_legacy(stream)) return is_blocking(other);
    return is_legacy(other) && is_blocking(stream);
}

CUresult note_others(Stream& stream, Operation& operation, Operation* wait_for) {
    int count = wait_for != nullptr ? 1 : 0;
    for (Stream* other = stream.context->streams; other != nullptr; other = other->next)
        count += waits_for(stream, *other) ? 1 : 0;
    if (count == 0) return CUDA_SUCCESS;
    operation.others =
        static_cast<Operation**>(std::calloc(static_cast<std::size_t>(count), sizeof(Operation*)));
    if (operation.others == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (wait_for != nullptr) operation.others[operation.other_count++] = refer(wait_for);
    for (Stream* other = stream.context->streams; other != nullptr; other = other->next) {
        if (waits_for(stream, *other))
            operation.others[operation.other_count++] = refer(other->last);
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUresult make_stream(Context& context, unsigned flags, Stream** stream) {
    auto* made = static_cast<Stream*>(std::calloc(1, sizeof(Stream)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    static constinit std::uint64_t streams_total = 0;
    made->context = &context;
    made->alive = true;
    made->flags = flags;
    made->id = ++streams_total;
    made->next = context.streams;
    context.streams = made;
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult find_stream(CUstream handle, Stream** stream) {
    const bool is_of_thread = handle == CU_STREAM_PER_THREAD;
    if (handle == nullptr || handle == CU_STREAM_LEGACY || is_of_thread) {
        Context* context = nullptr;
        if (const CUresult error = current_context(&context); error != CUDA_SUCCESS) return error;
        const auto thread = is_of_thread ? static_cast<pid_t>(syscall(SYS_gettid)) : 0;
        return find_or_make_default(*context, thread, stream);
    }
    *stream = nullptr;
    for_each_context([&](Context& of) {
        for (Stream* each = of.streams; each != nullptr; each = each->next)
            if (reinterpret_cast<CUstream>(each) == handle && each->alive) *stream = each;
    });
    if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return (*stream)->context->error;
}

Operation* make_operation(Operation::Place place) {
    auto* made = static_cast<Operation*>(std::calloc(1, sizeof(Operation)));
    if (made == nullptr) return nullptr;
    made->place = place;
    made->references = 1;
    return made;
}

Operation* refer(Operation* operation) {
    operation->references++;
    return operation;
}

void release(Operation* operation) {
    if (--operation->references > 0) return;
    for (int i = 0; i < operation->other_count; i++)
        release(operation->others[i]);
    std::free(static_cast<void*>(operation->others));
    std::free(operation);
}

CUresult enqueue(Stream& stream, Operation* operation, Operation* wait_first) {
    if (Stream* recorded = recorded_in_the_way_of(stream); recorded != nullptr) {
        release(operation);
        return spoil(*recorded, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    while (stream.pending >= kMaxPending && !is_hopeless(*stream.context))
        wait_for(*stream.first);
    operation->stream = &stream;
    operation->previous = stream.last;
    if (const CUresult error = note_others(stream, *operation, wait_first); error != CUDA_SUCCESS) {
        release(operation);
        return error;
    }
    if (stream.last != nullptr) {
        stream.last->next = operation;
    } else {
        stream.first = operation;
    }
    stream.last = operation;
    stream.pending++;
    const std::int64_t now = monotonic_ns();
    operation->done_ns = now;
    try_start(*operation, now);
    if (operation->progress == Operation::Progress::waiting) need_runner();
    return CUDA_SUCCESS;
}

bool is_done(const Operation& operation) {
    return operation.progress == Operation::Progress::done;
}

// Its stream releases it; other code that refers to it finds it done.
void finish(Operation& operation, std::int64_t done_ns) {
    Stream& stream = *operation.stream;
    Context& context = *stream.context;
    operation.progress = Operation::Progress::done;
    operation.done_ns = done_ns;
    if (context.error == CUDA_SUCCESS && operation.deed != nullptr) operation.deed(operation);
    const CUresult error = error_of(operation.fault);
    // The first error stays: the work of a context that has one was cut off before this fault.
    if (error != CUDA_SUCCESS && context.error == CUDA_SUCCESS) {
        context.error = error;
        {
            const EngineLock lock(driver.state, operation.id);
            cut_off(driver.state, operation.id, driver.slot, done_ns);
        }
        report_fault(context, error);
    }
    stream.first = operation.next;
    stream.pending--;
    if (stream.first != nullptr) {
        stream.first->previous = nullptr;
        // What follows is not done earlier.
        if (stream.first->done_ns < done_ns) stream.first->done_ns = done_ns;
    } else {
        stream.last = nullptr;
    }
    release(&operation);
    ring();
}

void move_on() {
    const std::int64_t now = monotonic_ns();
    // What is done in one stream may let another go on, which may have been checked before.
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for_each_stream([&](Stream& stream) {
            const Operation* first = stream.first;
            move_on(stream, now);
            has_changed |= stream.first != first;
        });
    }
}

std::int64_t next_due() {
    const std::int64_t now = monotonic_ns();
    std::int64_t due = kNever;
    bool does_anything_wait = false;
    for_each_stream([&](Stream& stream) {
        due = earlier(due, due_at(*stream.first, now));
        for (Operation* each = stream.first; each != nullptr; each = each->next)
            does_anything_wait |= each->progress == Progress::waiting;
    });
    return does_anything_wait ? due : kNever;
}

void ring() {
    bell.fetch_add(1);
    if (sleepers.load() > 0) syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
}

void sleep_until(std::int64_t time_ns) {
    const std::int64_t until = earlier(time_ns, monotonic_ns() + kLookAgainNs);
    const timespec wake = {until / 1'000'000'000, until % 1'000'000'000};
    const std::uint32_t heard = bell.load();
    sleepers.fetch_add(1);
    pthread_mutex_unlock(&driver.mutex);
    // By default the kernel may be 50 us late.
    const int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);
    syscall(SYS_futex, &bell, FUTEX_WAIT_BITSET_PRIVATE, heard, &wake, 0, FUTEX_BITSET_MATCH_ANY);
    prctl(PR_SET_TIMERSLACK, slack);
    pthread_mutex_lock(&driver.mutex);
    sleepers.fetch_sub(1);
    check_mps();
    if (until != time_ns) look_for_dead();
}

void wait_for(Operation& operation) {
    refer(&operation);
    for (;;) {
        move_on();
        if (is_done(operation) || is_hopeless(context_of(operation))) break;
        if (!has_runner() && call_next_host()) continue;
        sleep_until(due_at(operation, monotonic_ns()));
    }
    release(&operation);
}

void wait_for(Stream& stream) {
    if (stream.last != nullptr) wait_for(*stream.last);
}

void wait_for(Context& context) {
    for (Stream* stream = context.streams; stream != nullptr; stream = stream->next)
        wait_for(*stream);
}

void wait_for_all() {
    for (int device = 0; device < driver.devices.count; device++)
        wait_for(driver.primary[device].context);
    for (Context* context = driver.contexts; context != nullptr; context = context->next)
        wait_for(*context);
}

void end_work(Context& context) {
    bool has_hung = false;
    for (Stream* stream = context.streams; stream != nullptr; stream = stream->next)
        has_hung |= has_hung_kernel(*stream);
    if (!has_hung) wait_for(context);
    for (const Engine engine : {Engine::compute, Engine::copies}) {
        const EngineId id = {context.gpu, engine};
        const EngineLock lock(driver.state, id);
        if (has_hung || context.error != CUDA_SUCCESS)
            cut_off(driver.state, id, driver.slot, monotonic_ns());
    }
    const CUresult error = context.error;
    context.error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    while (context.streams != nullptr) {
        Stream* stream = context.streams;
        drop_all(*stream);
        context.streams = stream->next;
        std::free(stream);
    }
    context.error = error;
}

}  // namespace gpusim
