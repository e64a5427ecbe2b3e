// The work that a process gives to its cards: streams of operations, each of which waits for those
// before it, is done by an engine of the card at a time that follows from the timeline
// (state/timeline.hpp), or by the host, and may be waited for.
//
// Nobody runs an engine: whoever calls the driver moves on what has become due (`move_on`). A
// thread of the driver's own does so where nobody would: for operations that become ready by others
// being done, and for functions of the host. All functions want a Session.
#pragma once

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/state/timeline.hpp"

namespace gpusim {

struct Capture;
struct Node;
struct Operation;
struct Stream;

// What an operation does when its turn comes, besides taking time.
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
    Operation* previous;  // in its stream, while that is not done
    Operation* next;
    Operation* next_call;  // of the functions that are to be called (runner.hpp)
    unsigned references;
    Place place;
    Progress progress;
    EngineId id;
    Work work;
    KernelFault fault;
    std::int64_t until_ps;
    std::int64_t done_ns;  // until it is done: it begins no sooner than this
    bool is_point;         // a marker behind nothing that is still to be done
    bool is_called;        // the function of the host has been
    Operation** others;    // of other streams, that are to be done before
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
    std::size_t value_bytes;  // that are repeated; 0: one
    CUhostFn host_function;
    CUstreamCallback callback;
    void* data;
};

// A CUstream points to one. Freed with its context only, so that a stale handle is recognised.
struct Stream {
    Context* context;
    bool alive;
    unsigned flags;
    int priority;
    std::uint64_t id;
    bool is_default;
    pid_t thread;      // whose default stream it is; 0: the program's
    Operation* first;  // not yet done
    Operation* last;
    int pending;
    Capture* capture;  // it is being recorded
    Node** tails;      // what the next recorded node is behind
    int tail_count;
    Stream* next;  // in Context::streams
};

// The stream behind a handle, of whichever context; null and the two special handles are the
// default streams of the current one. CUDA_ERROR_INVALID_HANDLE; of these, what current_context
// says.
CUresult find_stream(CUstream handle, Stream** stream);
CUresult make_stream(Context& context, unsigned flags, Stream** stream);

// A new operation, to be filled in and enqueued. Null without memory.
Operation* make_operation(Operation::Place place);
// Gives it to the stream. `wait_for` may name one more operation to wait for.
CUresult enqueue(Stream& stream, Operation* operation, Operation* wait_for = nullptr);
Operation* refer(Operation* operation);
void release(Operation* operation);

// Does what has become due.
void move_on();
// When something will be, as far as anything waits for it; kNever if not.
std::int64_t next_due();
// The operation is done, since then.
void finish(Operation& operation, std::int64_t done_ns);
// Until that time, or something has been done, or a neighbour may have died. Without the mutex.
void sleep_until(std::int64_t time_ns);
// Wakes all who sleep.
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
