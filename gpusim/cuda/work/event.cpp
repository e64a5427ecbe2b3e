#include "gpusim/cuda/work/event.hpp"

#include <cstdlib>

#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/work/capture.hpp"

using gpusim::Context;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Stream;
using gpusim::StreamEvent;

namespace {

constexpr std::uint32_t kMark = 0x45564e54;
constexpr unsigned kAllFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

void forget(StreamEvent& event) {
    if (event.recorded != nullptr) gpusim::release(event.recorded);
    event.recorded = nullptr;
    event.capture = nullptr;
    event.node = nullptr;
}

// CUDA_ERROR_NOT_READY until it is reached; an event that was never recorded counts as reached.
CUresult state_of(StreamEvent& event) {
    if (event.capture != nullptr) return gpusim::state_of_captured(*event.capture);
    gpusim::move_on();
    if (event.context->error != CUDA_SUCCESS) return event.context->error;
    if (event.recorded == nullptr || gpusim::is_done(*event.recorded)) return CUDA_SUCCESS;
    return gpusim::is_lost(event.context->gpu) ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_NOT_READY;
}

}  // namespace

namespace gpusim {

StreamEvent* find_event(CUevent handle) {
    auto* event = reinterpret_cast<StreamEvent*>(handle);
    return event != nullptr && event->mark == kMark ? event : nullptr;
}

}  // namespace gpusim

CUresult cuEventCreate(CUevent* handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    const bool is_shared = (flags & CU_EVENT_INTERPROCESS) != 0;
    if (handle == nullptr || (flags & ~kAllFlags) != 0 ||
        (is_shared && (flags & CU_EVENT_DISABLE_TIMING) == 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (is_shared) return CUDA_ERROR_NOT_SUPPORTED;
    auto* event = static_cast<StreamEvent*>(std::calloc(1, sizeof(StreamEvent)));
    if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    event->mark = kMark;
    event->flags = flags;
    event->context = context;
    *handle = reinterpret_cast<CUevent>(event);
    return CUDA_SUCCESS;
}

// What waits for the work before the event still does.
CUresult cuEventDestroy_v2(CUevent handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    StreamEvent* event = gpusim::find_event(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    forget(*event);
    event->mark = 0;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle) {
    return cuEventDestroy_v2(handle);
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
    return cuEventRecordWithFlags(handle, stream_handle, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(stream_handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    StreamEvent* event = gpusim::find_event(handle);
    if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr) {
        forget(*event);
        return gpusim::record_event(*stream, *event);
    }
    Operation* operation = gpusim::make_operation(Operation::Place::marker);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    forget(*event);
    event->recorded = gpusim::refer(operation);
    const CUresult result = gpusim::enqueue(*stream, operation);
    if (result != CUDA_SUCCESS) forget(*event);
    return result;
}

CUresult cuEventQuery(CUevent handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    StreamEvent* event = gpusim::find_event(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // The captured event comes first: driver 580.159.04 returns that error.
    const bool is_captured = event->capture != nullptr && !event->capture->is_over;
    const CUresult unsafe = gpusim::check_unsafe_call();
    return unsafe != CUDA_SUCCESS && !is_captured ? unsafe : state_of(*event);
}

CUresult cuEventSynchronize(CUevent handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    StreamEvent* event = gpusim::find_event(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture == nullptr && event->recorded != nullptr) gpusim::wait_for(*event->recorded);
    gpusim::release_idle_memory();
    return state_of(*event);
}

// Resolution as documented: about half a microsecond.
CUresult cuEventElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    StreamEvent* start = gpusim::find_event(start_handle);
    StreamEvent* end = gpusim::find_event(end_handle);
    // Also for a null pointer: driver 580.159.04 does that.
    if (milliseconds == nullptr || start == nullptr || end == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->context != end->context || start->recorded == nullptr || end->recorded == nullptr ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (StreamEvent* event : {start, end}) {
        if (const CUresult state = state_of(*event); state != CUDA_SUCCESS) return state;
    }
    const auto ns = static_cast<double>(end->recorded->done_ns - start->recorded->done_ns);
    const double rate = 1 + gpusim::gpu_of(*start->context).event_clock_fast_ppm / 1e6;
    *milliseconds = static_cast<float>(ns * rate / 1e6);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime(milliseconds, start, end);
}
