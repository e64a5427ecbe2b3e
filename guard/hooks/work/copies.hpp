// Hooks of copies and fills. Between host and GPU they are work of the GPU's copy engines; within
// the GPU they are work of the engines that run kernels.
#pragma once

#include "guard/compute/waited_copy.hpp"
#include "guard/hooks/work/work.hpp"

// A call that names a stream. `kind` may use the call's arguments.
#define IN_STREAM(name, kind, parameters, arguments) \
    HOOK_STREAM_CALL(name, kind, stream, parameters, arguments)
// A call that works in the default stream, within the GPU: it returns before the work is done.
#define IN_DEFAULT_STREAM(name, parameters, arguments)                                            \
    CUresult name parameters {                                                                    \
        return enqueue_with_permit(&Driver::name, WorkKind::kernels, nullptr, UNPACK arguments);  \
    }                                                                                             \
    CUresult name##_ptds parameters {                                                             \
        return enqueue_with_permit(&Driver::name##_ptds, WorkKind::kernels, CU_STREAM_PER_THREAD, \
                                   UNPACK arguments);                                             \
    }
// A call between host and GPU that waits. `unwaited` is the call for the same copy that does not
// wait. `kind` and `bytes` may use the call's arguments.
#define COPY_THAT_WAITS(name, unwaited, kind, bytes, parameters, arguments)           \
    CUresult name parameters {                                                        \
        return give_or_copy(&Driver::name, &Driver::unwaited, {kind, nullptr, bytes}, \
                            UNPACK arguments);                                        \
    }                                                                                 \
    CUresult name##_ptds parameters {                                                 \
        return give_or_copy(&Driver::name##_ptds, &Driver::unwaited,                  \
                            {kind, CU_STREAM_PER_THREAD, bytes}, UNPACK arguments);   \
    }

namespace tessera::guard {

struct CopyThatWaits {
    WorkKind kind;  // copies within the GPU do not wait
    CUstream stream;
    std::size_t bytes;
};

// Calls the driver's function when the container has a launch permit, and returns when the copy is
// done.
template <typename Function, typename Unwaited, typename... Arguments>
CUresult copy_and_wait(Function Driver::* slot, Unwaited Driver::* unwaited,
                       const CopyThatWaits& what, Arguments... arguments) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(arguments...);
    WaitedCopy copy;
    CUresult result = copy.acquire_permit(what.stream, what.bytes);
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
    return enqueue_with_permit(slot, what.kind, what.stream, arguments...);
}

}  // namespace tessera::guard
