// Copies and fills of other shapes: rows, boxes, arrays, between contexts, in batches; and moves of
// managed memory.
#include "guard/hooks/work/copies.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

bool is_on_gpu(CUmemorytype type) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY;
}

template <typename Copy>
WorkKind kind_of(const Copy* copy) {
    const bool is_within =
        copy != nullptr && is_on_gpu(copy->srcMemoryType) && is_on_gpu(copy->dstMemoryType);
    return is_within ? WorkKind::kernels : WorkKind::copies;
}

std::size_t bytes_of(const CUDA_MEMCPY2D_v2* copy) {
    return copy != nullptr ? copy->WidthInBytes * copy->Height : 0;
}

template <typename Box>
std::size_t bytes_of(const Box* copy) {
    return copy != nullptr ? copy->WidthInBytes * copy->Height * copy->Depth : 0;
}

}  // namespace

IN_STREAM(cuMemcpyPeerAsync, WorkKind::copies,
          (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
           size_t bytes, CUstream stream),
          (to, to_context, from, from_context, bytes, stream))
IN_STREAM(cuMemcpyHtoAAsync_v2, WorkKind::copies,
          (CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream),
          (to, offset, from, bytes, stream))
IN_STREAM(cuMemcpyAtoHAsync_v2, WorkKind::copies,
          (void* to, CUarray from, size_t offset, size_t bytes, CUstream stream),
          (to, from, offset, bytes, stream))
IN_STREAM(cuMemcpy2DAsync_v2, kind_of(copy), (const CUDA_MEMCPY2D_v2* copy, CUstream stream),
          (copy, stream))
IN_STREAM(cuMemcpy3DAsync_v2, kind_of(copy), (const CUDA_MEMCPY3D_v2* copy, CUstream stream),
          (copy, stream))
IN_STREAM(cuMemcpy3DPeerAsync, WorkKind::copies,
          (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream), (copy, stream))
IN_STREAM(cuMemcpyBatchAsync, WorkKind::copies,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
           CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
           size_t* failed, CUstream stream),
          (to, from, bytes, count, attributes, attribute_indices, attribute_count, failed, stream))
IN_STREAM(cuMemcpy3DBatchAsync, WorkKind::copies,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, size_t* failed,
           unsigned long long flags, CUstream stream),
          (count, copies, failed, flags, stream))
IN_STREAM(cuMemcpyBatchAsync_v2, WorkKind::copies,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
           CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
           CUstream stream),
          (to, from, bytes, count, attributes, attribute_indices, attribute_count, stream))
IN_STREAM(cuMemcpy3DBatchAsync_v2, WorkKind::copies,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, unsigned long long flags,
           CUstream stream),
          (count, copies, flags, stream))
IN_STREAM(cuMemcpyWithAttributesAsync, WorkKind::copies,
          (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes_v1* attributes,
           CUstream stream),
          (to, from, bytes, attributes, stream))
IN_STREAM(cuMemcpy3DWithAttributesAsync, WorkKind::copies,
          (CUDA_MEMCPY3D_BATCH_OP_v1 * copy, unsigned long long flags, CUstream stream),
          (copy, flags, stream))
IN_STREAM(cuMemPrefetchBatchAsync, WorkKind::copies,
          (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
           size_t* location_indices, size_t location_count, unsigned long long flags,
           CUstream stream),
          (pointers, bytes, count, locations, location_indices, location_count, flags, stream))
IN_STREAM(cuMemDiscardAndPrefetchBatchAsync, WorkKind::copies,
          (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
           size_t* location_indices, size_t location_count, unsigned long long flags,
           CUstream stream),
          (pointers, bytes, count, locations, location_indices, location_count, flags, stream))
IN_STREAM(cuMemsetD16Async, WorkKind::kernels,
          (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
          (to, value, count, stream))
IN_STREAM(cuMemsetD2D8Async, WorkKind::kernels,
          (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
           CUstream stream),
          (to, pitch, value, width, height, stream))
IN_STREAM(cuMemsetD2D16Async, WorkKind::kernels,
          (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
           CUstream stream),
          (to, pitch, value, width, height, stream))
IN_STREAM(cuMemsetD2D32Async, WorkKind::kernels,
          (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
           CUstream stream),
          (to, pitch, value, width, height, stream))
IN_STREAM(cuMemPrefetchAsync, WorkKind::copies,
          (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream),
          (pointer, bytes, device, stream))
IN_STREAM(cuMemPrefetchAsync_v2, WorkKind::copies,
          (CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags,
           CUstream stream),
          (pointer, bytes, location, flags, stream))

COPY_THAT_WAITS(cuMemcpyPeer, cuMemcpyPeerAsync, WorkKind::copies, bytes,
                (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                 size_t bytes),
                (to, to_context, from, from_context, bytes))
IN_DEFAULT_STREAM(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
                  (to, offset, from, bytes))
IN_DEFAULT_STREAM(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
                  (to, from, offset, bytes))
COPY_THAT_WAITS(cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2, WorkKind::copies, bytes,
                (CUarray to, size_t offset, const void* from, size_t bytes),
                (to, offset, from, bytes))
COPY_THAT_WAITS(cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2, WorkKind::copies, bytes,
                (void* to, CUarray from, size_t offset, size_t bytes), (to, from, offset, bytes))
IN_DEFAULT_STREAM(cuMemcpyAtoA_v2,
                  (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes),
                  (to, to_offset, from, from_offset, bytes))
COPY_THAT_WAITS(cuMemcpy2D_v2, cuMemcpy2DAsync_v2, kind_of(copy), bytes_of(copy),
                (const CUDA_MEMCPY2D_v2* copy), (copy))
COPY_THAT_WAITS(cuMemcpy2DUnaligned_v2, cuMemcpy2DAsync_v2, kind_of(copy), bytes_of(copy),
                (const CUDA_MEMCPY2D_v2* copy), (copy))
COPY_THAT_WAITS(cuMemcpy3D_v2, cuMemcpy3DAsync_v2, kind_of(copy), bytes_of(copy),
                (const CUDA_MEMCPY3D_v2* copy), (copy))
COPY_THAT_WAITS(cuMemcpy3DPeer, cuMemcpy3DPeerAsync, WorkKind::copies, bytes_of(copy),
                (const CUDA_MEMCPY3D_PEER_v1* copy), (copy))
IN_DEFAULT_STREAM(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count),
                  (to, value, count))
IN_DEFAULT_STREAM(cuMemsetD2D8_v2,
                  (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
                  (to, pitch, value, width, height))
IN_DEFAULT_STREAM(cuMemsetD2D16_v2,
                  (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
                  (to, pitch, value, width, height))
IN_DEFAULT_STREAM(cuMemsetD2D32_v2,
                  (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
                  (to, pitch, value, width, height))
