// cuStream*, and host functions in streams.
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/event.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Stream;
using gpusim::StreamEvent;

namespace {

// As in the real driver, lower is more urgent. It has no effect here.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

CUresult enqueue_host(CUstream handle, CUhostFn function, CUstreamCallback callback, void* data) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (function == nullptr && callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr) {
        if (callback != nullptr)
            return gpusim::spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        return gpusim::record(*stream, gpusim::host_node(function, data));
    }
    Operation* operation = gpusim::make_operation(Operation::Place::host);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    operation->host_function = function;
    operation->callback = callback;
    operation->data = data;
    return gpusim::enqueue(*stream, operation);
}

// A stream that may be queried and waited for: not while it is captured.
CUresult find_running(CUstream handle, Stream** stream) {
    if (const CUresult error = gpusim::find_stream(handle, stream); error != CUDA_SUCCESS) {
        return error;
    }
    if ((*stream)->capture == nullptr) return CUDA_SUCCESS;
    return gpusim::spoil(**stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned int flags, int priority) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (handle == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::make_stream(*context, flags, &stream);
        error != CUDA_SUCCESS) {
        return error;
    }
    const int at_least = priority > kGreatestPriority ? priority : kGreatestPriority;
    stream->priority = at_least < kLeastPriority ? at_least : kLeastPriority;
    *handle = reinterpret_cast<CUstream>(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* handle, unsigned int flags) {
    return cuStreamCreateWithPriority(handle, flags, kLeastPriority);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return CUDA_SUCCESS;
}

// Its work goes on; a wait for the context includes it.
CUresult cuStreamDestroy_v2(CUstream handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (stream->is_default) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) gpusim::leave_capture(*stream);
    stream->alive = false;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle) {
    return cuStreamDestroy_v2(handle);
}

CUresult cuStreamQuery(CUstream handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = find_running(handle, &stream); error != CUDA_SUCCESS) return error;
    gpusim::move_on();
    if (stream->context->error != CUDA_SUCCESS) return stream->context->error;
    return stream->first == nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = find_running(handle, &stream); error != CUDA_SUCCESS) return error;
    const Context& context = *stream->context;
    gpusim::wait_for(*stream);
    gpusim::release_idle_memory();
    return gpusim::is_lost(context.gpu) ? CUDA_ERROR_UNKNOWN : context.error;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    StreamEvent* event = gpusim::find_event(event_handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    if (event->capture != nullptr || stream->capture != nullptr) {
        return gpusim::wait_in_capture(*stream, *event);
    }
    if (event->recorded == nullptr || gpusim::is_done(*event->recorded)) return CUDA_SUCCESS;
    Operation* operation = gpusim::make_operation(Operation::Place::marker);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    return gpusim::enqueue(*stream, operation, event->recorded);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return enqueue_host(stream, function, nullptr, data);
}

// The mode says only how the stream waits for the function, which is not modelled.
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* data, unsigned int mode) {
    constexpr unsigned kModes = 2;
    return mode < kModes ? cuLaunchHostFunc(stream, function, data) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return enqueue_host(stream, nullptr, callback, data);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = reinterpret_cast<CUcontext>(stream->context);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = stream->id;
    return CUDA_SUCCESS;
}
