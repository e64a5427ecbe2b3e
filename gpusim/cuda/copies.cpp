// cuMemcpy* and cuMemset*: an engine takes time for them, and at the end of it the bytes are there.
#include <cstring>

#include "gpusim/cuda/capture.hpp"
#include "gpusim/cuda/managed_memory.hpp"
#include "gpusim/cuda/work.hpp"

using gpusim::Context;
using gpusim::Engine;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Side;
using gpusim::Stream;
using gpusim::Use;

namespace {

// Of PCIe 3, and of the card's own memory.
constexpr std::int64_t kHostBytesPerNs = 12;
constexpr std::int64_t kCardBytesPerNs = 300;

CUdeviceptr pointer_of(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
}

gpusim::Work work_of(std::size_t bytes, std::int64_t bytes_per_ns) {
    return {static_cast<std::int64_t>(bytes) * gpusim::kPsPerNs / bytes_per_ns,
            gpusim::kWholeEngine};
}

void move_bytes(Operation& operation) {
    gpusim::touch_managed(operation.to, operation.bytes);
    gpusim::touch_managed(operation.from, operation.bytes);
    std::memmove(gpusim::address(operation.to), gpusim::address(operation.from), operation.bytes);
}

void set_bytes(Operation& operation) {
    gpusim::touch_managed(operation.to, operation.bytes);
    std::memset(gpusim::address(operation.to), static_cast<int>(operation.value), operation.bytes);
}

void set_words(Operation& operation) {
    gpusim::touch_managed(operation.to, operation.bytes);
    for (std::size_t i = 0; i < operation.bytes; i += sizeof operation.value)
        std::memcpy(gpusim::address(operation.to + i), &operation.value, sizeof operation.value);
}

bool is_allowed(const Context& context, const Operation& wanted, CUgraphNodeType type) {
    if (wanted.to == 0 ||
        !gpusim::is_reachable(context, wanted.to, wanted.bytes, wanted.to_side, Use::write)) {
        return false;
    }
    if (type == CU_GRAPH_NODE_TYPE_MEMSET) return true;
    return wanted.from != 0 &&
           gpusim::is_reachable(context, wanted.from, wanted.bytes, wanted.from_side, Use::read);
}

CUresult run(const Operation& wanted, CUgraphNodeType type, CUstream handle, bool waits) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    const Context& context = *stream->context;
    if (wanted.bytes == 0) return CUDA_SUCCESS;
    if (!is_allowed(context, wanted, type)) return CUDA_ERROR_INVALID_VALUE;
    Operation* operation = gpusim::make_operation(Operation::Place::engine);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *operation = wanted;
    operation->references = 1;
    const bool is_inside =
        gpusim::is_device_memory(wanted.to) &&
        (type == CU_GRAPH_NODE_TYPE_MEMSET || gpusim::is_device_memory(wanted.from));
    operation->id = {context.card, is_inside ? Engine::compute : Engine::copies};
    operation->work = work_of(wanted.bytes, is_inside ? kCardBytesPerNs : kHostBytesPerNs);
    if (stream->capture != nullptr) {
        if (!waits) return gpusim::record(*stream, gpusim::node_of(type, operation));
        gpusim::release(operation);
        return gpusim::spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    gpusim::refer(operation);
    CUresult result = gpusim::enqueue(*stream, operation);
    if (result == CUDA_SUCCESS && waits) {
        gpusim::wait_for(*operation);
        result = gpusim::is_lost(context.card) ? CUDA_ERROR_UNKNOWN : context.error;
    }
    gpusim::release(operation);
    return result;
}

Operation copy_of(CUdeviceptr to, Side to_side, CUdeviceptr from, Side from_side,
                  std::size_t bytes) {
    Operation operation = {};
    operation.deed = move_bytes;
    operation.to = to;
    operation.to_side = to_side;
    operation.from = from;
    operation.from_side = from_side;
    operation.bytes = bytes;
    return operation;
}

CUresult copy(const Operation& wanted, CUstream stream, bool waits) {
    return run(wanted, CU_GRAPH_NODE_TYPE_MEMCPY, stream, waits);
}

CUresult set(CUdeviceptr to, std::uint32_t value, std::size_t bytes, bool is_words, CUstream stream,
             bool waits) {
    Operation operation = {};
    operation.deed = is_words ? set_words : set_bytes;
    operation.to = to;
    operation.to_side = Side::device;
    operation.value = value;
    operation.bytes = bytes;
    if (is_words && to % sizeof value != 0) return CUDA_ERROR_INVALID_VALUE;
    return run(operation, CU_GRAPH_NODE_TYPE_MEMSET, stream, waits);
}

}  // namespace

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(copy_of(to, Side::either, from, Side::either, bytes), stream, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy(copy_of(to, Side::device, pointer_of(from), Side::either, bytes), stream, false);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(copy_of(pointer_of(to), Side::either, from, Side::device, bytes), stream, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(copy_of(to, Side::device, from, Side::device, bytes), stream, false);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return set(to, value, count, false, stream, false);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return set(to, value, count * sizeof value, true, stream, false);
}

// Without a stream: in the default one, and they come back when they are done. (A real memset and a
// copy within the card may come back before.)
#define IN_DEFAULT_STREAM(name, parameters, call_in)  \
    CUresult name parameters {                        \
        const CUstream stream = CU_STREAM_LEGACY;     \
        return call_in;                               \
    }                                                 \
    CUresult name##_ptds parameters {                 \
        const CUstream stream = CU_STREAM_PER_THREAD; \
        return call_in;                               \
    }

IN_DEFAULT_STREAM(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  copy(copy_of(to, Side::either, from, Side::either, bytes), stream, true))
IN_DEFAULT_STREAM(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes),
                  copy(copy_of(to, Side::device, pointer_of(from), Side::either, bytes), stream,
                       true))
IN_DEFAULT_STREAM(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes),
                  copy(copy_of(pointer_of(to), Side::either, from, Side::device, bytes), stream,
                       true))
IN_DEFAULT_STREAM(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  copy(copy_of(to, Side::device, from, Side::device, bytes), stream, true))
IN_DEFAULT_STREAM(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),
                  set(to, value, count, false, stream, true))
IN_DEFAULT_STREAM(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count),
                  set(to, value, count * sizeof value, true, stream, true))
