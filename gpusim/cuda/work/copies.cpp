// cuMemcpy* and cuMemset*: they take time on an engine, and at the end of it the bytes are there.
#include "gpusim/cuda/work/copies.hpp"

#include <cstring>

#include "gpusim/cuda/memory/managed_memory.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::End;
using gpusim::Engine;
using gpusim::Operation;
using gpusim::Session;
using gpusim::Side;
using gpusim::Stream;
using gpusim::Use;

namespace {

// The rates of PCIe 3, and of the GPU's own memory.
constexpr std::int64_t kHostBytesPerNs = 12;
constexpr std::int64_t kGpuBytesPerNs = 300;

CUdeviceptr pointer_of(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
}

gpusim::Work work_of(std::size_t bytes, std::int64_t bytes_per_ns) {
    return {static_cast<std::int64_t>(bytes) * gpusim::kPsPerNs / bytes_per_ns,
            gpusim::kWholeEngine};
}

// Calls `body` with the distance of each row from the first, at both ends.
template <class Body>
void for_each_row(const gpusim::Box& box, const Body& body) {
    for (std::size_t z = 0; z < box.slices; z++) {
        for (std::size_t y = 0; y < box.rows; y++)
            body(z * box.to.slice + y * box.to.row, z * box.from.slice + y * box.from.row);
    }
}

std::size_t span_of(const Operation& of, const gpusim::Box::Strides& strides) {
    return (of.box.slices - 1) * strides.slice + (of.box.rows - 1) * strides.row + of.bytes;
}

void move_bytes(Operation& operation) {
    gpusim::touch_managed(operation.to, span_of(operation, operation.box.to));
    gpusim::touch_managed(operation.from, span_of(operation, operation.box.from));
    for_each_row(operation.box, [&operation](std::size_t to, std::size_t from) {
        std::memmove(gpusim::address(operation.to + to), gpusim::address(operation.from + from),
                     operation.bytes);
    });
}

void set_values(Operation& operation) {
    gpusim::touch_managed(operation.to, span_of(operation, operation.box.to));
    for_each_row(operation.box, [&operation](std::size_t to, std::size_t) {
        if (operation.value_bytes == 1) {
            std::memset(gpusim::address(operation.to + to), static_cast<int>(operation.value),
                        operation.bytes);
            return;
        }
        for (std::size_t i = 0; i < operation.bytes; i += operation.value_bytes) {
            std::memcpy(gpusim::address(operation.to + to + i), &operation.value,
                        operation.value_bytes);
        }
    });
}

bool is_allowed(const Context& context, const Operation& wanted, CUgraphNodeType type,
                bool to_array, bool from_array) {
    if (wanted.to == 0) return false;
    if (!to_array && !gpusim::is_reachable(context, wanted.to, span_of(wanted, wanted.box.to),
                                           wanted.to_side, Use::write)) {
        return false;
    }
    if (type == CU_GRAPH_NODE_TYPE_MEMSET || from_array) return true;
    return wanted.from != 0 &&
           gpusim::is_reachable(context, wanted.from, span_of(wanted, wanted.box.from),
                                wanted.from_side, Use::read);
}

struct Arrays {
    bool to;
    bool from;
};

CUresult run(const Operation& wanted, CUgraphNodeType type, const Arrays& arrays, CUstream handle,
             bool waits) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Stream* stream = nullptr;
    if (const CUresult error = gpusim::find_stream(handle, &stream); error != CUDA_SUCCESS) {
        return error;
    }
    const Context& context = *stream->context;
    const std::size_t bytes = wanted.bytes * wanted.box.rows * wanted.box.slices;
    if (bytes == 0) return CUDA_SUCCESS;
    if (!is_allowed(context, wanted, type, arrays.to, arrays.from)) return CUDA_ERROR_INVALID_VALUE;
    Operation* operation = gpusim::make_operation(Operation::Place::engine);
    if (operation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *operation = wanted;
    operation->references = 1;
    const bool is_inside =
        (arrays.to || gpusim::is_device_memory(wanted.to)) &&
        (type == CU_GRAPH_NODE_TYPE_MEMSET || arrays.from || gpusim::is_device_memory(wanted.from));
    operation->id = {context.gpu, is_inside ? Engine::compute : Engine::copies};
    operation->work = work_of(bytes, is_inside ? kGpuBytesPerNs : kHostBytesPerNs);
    if (stream->capture != nullptr) {
        if (!waits) return gpusim::record(*stream, gpusim::node_of(type, operation));
        gpusim::release(operation);
        return gpusim::spoil(*stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    gpusim::refer(operation);
    CUresult result = gpusim::enqueue(*stream, operation);
    if (result == CUDA_SUCCESS && waits) {
        gpusim::wait_for(*operation);
        result = gpusim::is_lost(context.gpu) ? CUDA_ERROR_UNKNOWN : context.error;
    }
    gpusim::release(operation);
    return result;
}

End at(CUdeviceptr pointer, Side side) {
    return {pointer, side, false, {}};
}

CUresult copy(const End& to, const End& from, std::size_t bytes, CUstream stream, bool waits) {
    return gpusim::copy(to, from, {.bytes = bytes}, stream, waits);
}

CUresult set(CUdeviceptr to, std::uint32_t value, std::size_t value_bytes, std::size_t count,
             CUstream stream, bool waits) {
    return gpusim::fill({.to = to, .value = value, .value_bytes = value_bytes}, {.bytes = count},
                        stream, waits);
}

}  // namespace

namespace gpusim {

CUresult copy(const End& to, const End& from, const Extent& extent, CUstream stream, bool waits) {
    Operation operation = {};
    operation.deed = move_bytes;
    operation.to = to.pointer;
    operation.to_side = to.side;
    operation.from = from.pointer;
    operation.from_side = from.side;
    operation.bytes = extent.bytes;
    operation.box = {extent.rows, extent.slices, to.strides, from.strides};
    return run(operation, CU_GRAPH_NODE_TYPE_MEMCPY, {to.is_array, from.is_array}, stream, waits);
}

CUresult fill(const Fill& fill, const Extent& extent, CUstream stream, bool waits) {
    const bool has_pitch = extent.rows > 1;
    if (fill.to % fill.value_bytes != 0 || (has_pitch && fill.pitch % fill.value_bytes != 0) ||
        (has_pitch && fill.pitch < extent.bytes * fill.value_bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Operation operation = {};
    operation.deed = set_values;
    operation.to = fill.to;
    operation.to_side = Side::device;
    operation.value = fill.value;
    operation.value_bytes = fill.value_bytes;
    operation.bytes = extent.bytes * fill.value_bytes;
    operation.box = {extent.rows, 1, {fill.pitch, 0}, {}};
    return run(operation, CU_GRAPH_NODE_TYPE_MEMSET, {}, stream, waits);
}

}  // namespace gpusim

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(at(to, Side::either), at(from, Side::either), bytes, stream, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return copy(at(to, Side::device), at(pointer_of(from), Side::either), bytes, stream, false);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(at(pointer_of(to), Side::either), at(from, Side::device), bytes, stream, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(at(to, Side::device), at(from, Side::device), bytes, stream, false);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return set(to, value, 1, count, stream, false);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return set(to, value, sizeof value, count, stream, false);
}

IN_DEFAULT_STREAM(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  copy(at(to, Side::either), at(from, Side::either), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes),
                  copy(at(to, Side::device), at(pointer_of(from), Side::either), bytes, stream,
                       true))
IN_DEFAULT_STREAM(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes),
                  copy(at(pointer_of(to), Side::either), at(from, Side::device), bytes, stream,
                       true))
IN_DEFAULT_STREAM(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  copy(at(to, Side::device), at(from, Side::device), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),
                  set(to, value, 1, count, stream, true))
IN_DEFAULT_STREAM(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count),
                  set(to, value, sizeof value, count, stream, true))
