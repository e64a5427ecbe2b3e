// The work that a process gives to its GPUs: streams of operations. Each operation waits for those
// before it. It is done by the host, or by an engine of the GPU at a time that follows from the
// timeline (state/timeline.hpp). A thread may wait for it.
//
// No thread runs an engine: each thread that calls the driver moves on what has become due
// (`move_on`). A thread of the driver does so if no other would: for operations that become ready
// when others are done, and for host functions. All functions require a Session.
#pragma once

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/state/timeline.hpp"

namespace gpusim {

struct Capture;
struct Node;
struct Operation;
struct Stream;

// What an operation does when it runs, besides taking time.
using Deed = void (*)(Operation& operation);

// Rows that are copied or filled as one; zeros: one row.
struct Box {
    std::size_t rows;
    std::size_t slices;
    struct Strides {
        std::size_t row;
        std::size_t slice;
    } to, from;
};

struct Operation {
    enum class Place { engine, marker, host };
    enum class Progress { waiting, booked, done };

    Stream* stream;
    Operation* previous;  // in its stream, while that one is not done
    Operation* next;
    Operation* next_call;  // of the functions that wait to be called (runner.hpp)
    unsigned references;
    Place place;
    Progress progress;
    EngineId id;
    Work work;
    KernelFault fault;
    std::int64_t until_ps;
    std::int64_t done_ns;  // until it is done: the earliest time at which it begins
    bool is_point;         // a marker with no unfinished work before it
    bool is_called;        // the host function has been called
    Operation** others;    // of other streams, that must be done before
    int other_count;
    Deed deed;
    // For the deed.
    CUdeviceptr to;
    Side to_side;
    CUdeviceptr from;
    Side from_side;
    std::size_t bytes;  // of a row
    Box box;
    std::uint32_t value;
    std::size_t value_bytes;  // of the repeated value; 0: one
    CUhostFn host_function;
    CUstreamCallback callback;
    void* data;
};

// A CUstream points to one. Freed only with its context, so that a stale handle is recognised.
struct Stream {
    Context* context;
    bool alive;
    unsigned flags;
    int priority;
    std::uint64_t id;
    bool is_default;
    pid_t thread;      // the thread whose default stream it is; 0: the program's
    Operation* first;  // not yet done
    Operation* last;
    int pending;
    Capture* capture;  // while it is being captured
    Node** tails;      // the nodes that the next recorded node comes after
    int tail_count;
    Stream* next;  // in Context::streams
};

// The stream behind a handle, of any context. Null and the two special handles are the default
// streams of the current context. CUDA_ERROR_INVALID_HANDLE; for the default streams, the errors of
// current_context.
CUresult find_stream(CUstream handle, Stream** stream);
CUresult make_stream(Context& context, unsigned flags, Stream** stream);

// A new operation, to be filled in and enqueued. Null if there is no memory.
Operation* make_operation(Operation::Place place);
// Gives it to the stream. `wait_for` may name one more operation to wait for.
CUresult enqueue(Stream& stream, Operation* operation, Operation* wait_for = nullptr);
Operation* refer(Operation* operation);
void release(Operation* operation);

// Processes what has become due.
void move_on();
// When something becomes due next, if anything waits for it; kNever if not.
std::int64_t next_due();
// Marks the operation as done at `done_ns`.
void finish(Operation& operation, std::int64_t done_ns);
// Sleeps until that time, or until something is done, or until a neighbour may have died. Does not
// hold the mutex.
void sleep_until(std::int64_t time_ns);
// Wakes all sleeping threads.
void ring();
bool is_done(const Operation& operation);
// Waits until the operation is done; without the driver's mutex, so other threads go on.
void wait_for(Operation& operation);
// Waits until the stream, or the context, has no work.
void wait_for(Stream& stream);
void wait_for(Context& context);
// The same for every context of the process.
void wait_for_all();

// Ends all work of the context, done or not, and its streams.
void end_work(Context& context);

}  // namespace gpusim
