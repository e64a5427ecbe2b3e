// Copies and fills as hooks: between host and card they are the work of the card's copy engines,
// within the card that of those that run kernels.
#pragma once

#include "guard/compute/waited_copy.hpp"
#include "guard/hooks/work.hpp"

// A call that names a stream. `kind` may use what it is called with.
#define IN_STREAM(name, kind, parameters, arguments) \
    IN_STREAM_OF(name, kind, stream, parameters, arguments)
// One that works in the default stream, within the card: it comes back before it is done.
#define IN_DEFAULT_STREAM(name, parameters, arguments)                                  \
    CUresult name parameters {                                                          \
        return give_work(&Driver::name, WorkKind::kernels, nullptr, EACH arguments);    \
    }                                                                                   \
    CUresult name##_ptds parameters {                                                   \
        return give_work(&Driver::name##_ptds, WorkKind::kernels, CU_STREAM_PER_THREAD, \
                         EACH arguments);                                               \
    }
// One between host and card, which waits. `unwaited` is the call of the same copy that does not;
// `kind` and `bytes` may use what it is called with.
#define COPY_THAT_WAITS(name, unwaited, kind, bytes, parameters, arguments)           \
    CUresult name parameters {                                                        \
        return give_or_copy(&Driver::name, &Driver::unwaited, {kind, nullptr, bytes}, \
                            EACH arguments);                                          \
    }                                                                                 \
    CUresult name##_ptds parameters {                                                 \
        return give_or_copy(&Driver::name##_ptds, &Driver::unwaited,                  \
                            {kind, CU_STREAM_PER_THREAD, bytes}, EACH arguments);     \
    }

namespace tessera::guard {

struct CopyThatWaits {
    WorkKind kind;  // those within the card do not wait
    CUstream stream;
    std::size_t bytes;
};

// Calls the driver's own when it is the container's turn, and comes back when the copy is done.
template <typename Function, typename Unwaited, typename... Arguments>
CUresult copy_and_wait(Function Driver::* slot, Unwaited Driver::* unwaited,
                       const CopyThatWaits& what, Arguments... arguments) {
    const Entered real(slot);
    if (!real.is_held()) return real(arguments...);
    WaitedCopy copy;
    CUresult result = copy.take_turn(what.stream, what.bytes);
    if (result != CUDA_SUCCESS) return result;
    const Unwaited& give = driver()->*unwaited;
    if (copy.is_measured() && give && give(arguments..., what.stream) == CUDA_SUCCESS) {
        result = copy.wait();
    } else {
        result = real(arguments...);
    }
    if (result == CUDA_SUCCESS) copy.note_done();
    return result;
}

template <typename Function, typename Unwaited, typename... Arguments>
CUresult give_or_copy(Function Driver::* slot, Unwaited Driver::* unwaited,
                      const CopyThatWaits& what, Arguments... arguments) {
    if (what.kind == WorkKind::copies) return copy_and_wait(slot, unwaited, what, arguments...);
    return give_work(slot, what.kind, what.stream, arguments...);
}

}  // namespace tessera::guard
