// Copies of rows and boxes, to and from arrays, between contexts, and in batches; fills of other
// values and of rows; and explicit moves of managed memory.
#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/cuda/memory/managed_memory.hpp"
#include "gpusim/cuda/work/copies.hpp"

using gpusim::ArrayContent;
using gpusim::End;
using gpusim::Extent;
using gpusim::Session;
using gpusim::Side;

namespace {

// One end of a CUDA_MEMCPY3D.
struct Corner {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    std::size_t pitch;
    std::size_t height;
    std::size_t x;
    std::size_t y;
    std::size_t z;
};

CUresult find_in_array(const Corner& corner, const Extent& extent, End* end) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    ArrayContent content = {};
    if (const CUresult error = gpusim::find_content(corner.array, &content); error != CUDA_SUCCESS)
        return error;
    if (corner.x + extent.bytes > content.extent.bytes ||
        corner.y + extent.rows > content.extent.rows ||
        corner.z + extent.slices > content.extent.slices) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    end->is_array = true;
    end->strides = content.strides;
    end->pointer =
        content.base + corner.z * content.strides.slice + corner.y * content.strides.row + corner.x;
    return CUDA_SUCCESS;
}

CUresult find_end(const Corner& corner, const Extent& extent, End* end) {
    *end = {};
    if (corner.type == CU_MEMORYTYPE_ARRAY) return find_in_array(corner, extent, end);
    const std::size_t pitch = corner.pitch != 0 ? corner.pitch : extent.bytes;
    const std::size_t height = corner.height != 0 ? corner.height : extent.rows;
    if (corner.x + extent.bytes > pitch && extent.rows * extent.slices > 1)
        return CUDA_ERROR_INVALID_VALUE;
    end->strides = {pitch, pitch * height};
    end->side = corner.type == CU_MEMORYTYPE_DEVICE ? Side::device : Side::either;
    const CUdeviceptr base = corner.type == CU_MEMORYTYPE_HOST
                                 ? reinterpret_cast<CUdeviceptr>(corner.host)
                                 : corner.device;
    if (base != 0)
        end->pointer = base + corner.z * end->strides.slice + corner.y * pitch + corner.x;
    return CUDA_SUCCESS;
}

CUresult copy_box(const Corner& to, const Corner& from, const Extent& extent, CUstream stream,
                  bool waits) {
    End to_end;
    End from_end;
    if (const CUresult error = find_end(to, extent, &to_end); error != CUDA_SUCCESS) return error;
    if (const CUresult error = find_end(from, extent, &from_end); error != CUDA_SUCCESS)
        return error;
    return gpusim::copy(to_end, from_end, extent, stream, waits);
}

CUresult copy_2d(const CUDA_MEMCPY2D_v2* copy, CUstream stream, bool waits) {
    if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Corner to = {copy->dstMemoryType, copy->dstHost,  copy->dstDevice,
                       copy->dstArray,      copy->dstPitch, 0,
                       copy->dstXInBytes,   copy->dstY,     0};
    const Corner from = {copy->srcMemoryType, copy->srcHost,  copy->srcDevice,
                         copy->srcArray,      copy->srcPitch, 0,
                         copy->srcXInBytes,   copy->srcY,     0};
    return copy_box(to, from, {copy->WidthInBytes, copy->Height, 1}, stream, waits);
}

// Also for copies between contexts: they are in one process, which has one address space.
template <class Copy>
CUresult copy_3d(const Copy* copy, CUstream stream, bool waits) {
    if (copy == nullptr || copy->srcLOD != 0 || copy->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
    const Corner to = {copy->dstMemoryType, copy->dstHost,  copy->dstDevice,
                       copy->dstArray,      copy->dstPitch, copy->dstHeight,
                       copy->dstXInBytes,   copy->dstY,     copy->dstZ};
    const Corner from = {copy->srcMemoryType, copy->srcHost,  copy->srcDevice,
                         copy->srcArray,      copy->srcPitch, copy->srcHeight,
                         copy->srcXInBytes,   copy->srcY,     copy->srcZ};
    return copy_box(to, from, {copy->WidthInBytes, copy->Height, copy->Depth}, stream, waits);
}

Corner in_array(CUarray array, std::size_t offset) {
    Corner corner = {};
    corner.type = CU_MEMORYTYPE_ARRAY;
    corner.array = array;
    corner.x = offset;
    return corner;
}

Corner on_device(CUdeviceptr pointer) {
    Corner corner = {};
    corner.type = CU_MEMORYTYPE_DEVICE;
    corner.device = pointer;
    return corner;
}

Corner on_host(const void* pointer) {
    Corner corner = {};
    corner.type = CU_MEMORYTYPE_HOST;
    corner.host = pointer;
    return corner;
}

Corner anywhere(CUdeviceptr pointer) {
    Corner corner = on_device(pointer);
    corner.type = CU_MEMORYTYPE_UNIFIED;
    return corner;
}

CUresult copy_row(const Corner& to, const Corner& from, std::size_t bytes, CUstream stream,
                  bool waits) {
    return copy_box(to, from, {.bytes = bytes}, stream, waits);
}

CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   std::size_t bytes, CUstream stream, bool waits) {
    if (to_context == nullptr || from_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return copy_row(on_device(to), on_device(from), bytes, stream, waits);
}

CUresult fill_rows(const gpusim::Fill& fill, std::size_t width, std::size_t height, CUstream stream,
                   bool waits) {
    return gpusim::fill(fill, {.bytes = width, .rows = height}, stream, waits);
}

// Rows and layers of an operand are in bytes of a row of bytes: elements of other sizes are not
// modelled.
Corner corner_of(const CUmemcpy3DOperand& operand) {
    if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        Corner corner = in_array(operand.op.array.array, operand.op.array.offset.x);
        corner.y = operand.op.array.offset.y;
        corner.z = operand.op.array.offset.z;
        return corner;
    }
    Corner corner = anywhere(operand.op.ptr.ptr);
    corner.pitch = operand.op.ptr.rowLength;
    corner.height = operand.op.ptr.layerHeight;
    return corner;
}

CUresult prefetch(CUdeviceptr pointer, std::size_t bytes, bool to_host, CUstream stream) {
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        const gpusim::Range* range = gpusim::find_range(pointer);
        if (range == nullptr || range->kind != gpusim::RangeKind::managed || bytes == 0 ||
            pointer - range->base + bytes > range->bytes) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    // Nothing moves back to the host here, but the time of the move passes.
    if (to_host) return cuLaunchHostFunc(stream, [](void*) {}, nullptr);
    const End same = {pointer, Side::device, false, {}};
    return gpusim::copy(same, same, {.bytes = bytes}, stream, false);
}

}  // namespace

IN_DEFAULT_STREAM(cuMemcpyPeer,
                  (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   size_t bytes),
                  copy_peer(to, to_context, from, from_context, bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
                  copy_row(in_array(to, offset), on_device(from), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
                  copy_row(on_device(to), in_array(from, offset), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyHtoA_v2, (CUarray to, size_t offset, const void* from, size_t bytes),
                  copy_row(in_array(to, offset), on_host(from), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyAtoH_v2, (void* to, CUarray from, size_t offset, size_t bytes),
                  copy_row(on_host(to), in_array(from, offset), bytes, stream, true))
IN_DEFAULT_STREAM(cuMemcpyAtoA_v2,
                  (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes),
                  copy_row(in_array(to, to_offset), in_array(from, from_offset), bytes, stream,
                           true))
IN_DEFAULT_STREAM(cuMemcpy2D_v2, (const CUDA_MEMCPY2D_v2* wanted), copy_2d(wanted, stream, true))
IN_DEFAULT_STREAM(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D_v2* wanted),
                  copy_2d(wanted, stream, true))
IN_DEFAULT_STREAM(cuMemcpy3D_v2, (const CUDA_MEMCPY3D_v2* wanted), copy_3d(wanted, stream, true))
IN_DEFAULT_STREAM(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER_v1* wanted),
                  copy_3d(wanted, stream, true))
IN_DEFAULT_STREAM(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count),
                  fill_rows({to, 0, value, sizeof value}, count, 1, stream, true))
IN_DEFAULT_STREAM(cuMemsetD2D8_v2,
                  (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
                  fill_rows({to, pitch, value, sizeof value}, width, height, stream, true))
IN_DEFAULT_STREAM(cuMemsetD2D16_v2,
                  (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
                  fill_rows({to, pitch, value, sizeof value}, width, height, stream, true))
IN_DEFAULT_STREAM(cuMemsetD2D32_v2,
                  (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
                  fill_rows({to, pitch, value, sizeof value}, width, height, stream, true))

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream) {
    return copy_peer(to, to_context, from, from_context, bytes, stream, false);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes,
                              CUstream stream) {
    return copy_row(in_array(to, offset), on_host(from), bytes, stream, false);
}

CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes,
                              CUstream stream) {
    return copy_row(on_host(to), in_array(from, offset), bytes, stream, false);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D_v2* wanted, CUstream stream) {
    return copy_2d(wanted, stream, false);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D_v2* wanted, CUstream stream) {
    return copy_3d(wanted, stream, false);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER_v1* wanted, CUstream stream) {
    return copy_3d(wanted, stream, false);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                            CUmemcpyAttributes_v1* attributes, size_t* attribute_indices,
                            size_t attribute_count, size_t* failed, CUstream stream) {
    if (to == nullptr || from == nullptr || bytes == nullptr || count == 0 ||
        attributes == nullptr || attribute_indices == nullptr || attribute_count == 0 ||
        stream == nullptr || stream == CU_STREAM_LEGACY) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; i++) {
        const CUresult error =
            copy_row(anywhere(to[i]), anywhere(from[i]), bytes[i], stream, false);
        if (error == CUDA_SUCCESS) continue;
        if (failed != nullptr) *failed = i;
        return error;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, size_t* failed,
                              unsigned long long flags, CUstream stream) {
    if (copies == nullptr || count == 0 || flags != 0 || stream == nullptr ||
        stream == CU_STREAM_LEGACY) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; i++) {
        const Extent extent = {copies[i].extent.width, copies[i].extent.height,
                               copies[i].extent.depth};
        const CUresult error =
            copy_box(corner_of(copies[i].dst), corner_of(copies[i].src), extent, stream, false);
        if (error == CUDA_SUCCESS) continue;
        if (failed != nullptr) *failed = i;
        return error;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes_v1* attributes, size_t* attribute_indices,
                               size_t attribute_count, CUstream stream) {
    return cuMemcpyBatchAsync(to, from, bytes, count, attributes, attribute_indices,
                              attribute_count, nullptr, stream);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies,
                                 unsigned long long flags, CUstream stream) {
    return cuMemcpy3DBatchAsync(count, copies, nullptr, flags, stream);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                     CUmemcpyAttributes_v1* attributes, CUstream stream) {
    std::size_t first = 0;
    return cuMemcpyBatchAsync(&to, &from, &bytes, 1, attributes, &first, 1, nullptr, stream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP_v1* copy, unsigned long long flags,
                                       CUstream stream) {
    return cuMemcpy3DBatchAsync(1, copy, nullptr, flags, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return fill_rows({to, 0, value, sizeof value}, count, 1, stream, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
    return fill_rows({to, pitch, value, sizeof value}, width, height, stream, false);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
    return fill_rows({to, pitch, value, sizeof value}, width, height, stream, false);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
    return fill_rows({to, pitch, value, sizeof value}, width, height, stream, false);
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream) {
    return prefetch(pointer, bytes, device == CU_DEVICE_CPU, stream);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t bytes, CUmemLocation location,
                               unsigned int flags, CUstream stream) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return prefetch(pointer, bytes, location.type != CU_MEM_LOCATION_TYPE_DEVICE, stream);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* pointers, size_t* bytes, size_t count,
                                 CUmemLocation* locations, size_t* location_indices,
                                 size_t location_count, unsigned long long flags, CUstream stream) {
    if (pointers == nullptr || bytes == nullptr || count == 0 || locations == nullptr ||
        location_indices == nullptr || location_count == 0 || flags != 0 ||
        location_indices[0] != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::size_t location = 0;
    for (std::size_t i = 0; i < count; i++) {
        if (location + 1 < location_count && location_indices[location + 1] <= i) location++;
        const bool to_host = locations[location].type != CU_MEM_LOCATION_TYPE_DEVICE;
        const CUresult error = prefetch(pointers[i], bytes[i], to_host, stream);
        if (error != CUDA_SUCCESS) return error;
    }
    return CUDA_SUCCESS;
}

// What happens to the content is not modelled.
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* pointers, size_t* bytes, size_t count,
                                           CUmemLocation* locations, size_t* location_indices,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream) {
    return cuMemPrefetchBatchAsync(pointers, bytes, count, locations, location_indices,
                                   location_count, flags, stream);
}
