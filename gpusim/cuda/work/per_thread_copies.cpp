// Copies and fills in the default stream of the calling thread. Calls without a stream argument
// (_ptds) are defined beside their twins.
#include "gpusim/cuda/driver/per_thread.hpp"

using gpusim::of_thread;

PER_THREAD(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
           (to, from, bytes, of_thread(stream)))
PER_THREAD(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemcpyPeerAsync,
           (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
            size_t bytes, CUstream stream),
           (to, to_context, from, from_context, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyHtoAAsync_v2,
           (CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream),
           (to, offset, from, bytes, of_thread(stream)))
PER_THREAD(cuMemcpyAtoHAsync_v2,
           (void* to, CUarray from, size_t offset, size_t bytes, CUstream stream),
           (to, from, offset, bytes, of_thread(stream)))
PER_THREAD(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D_v2* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D_v2* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream),
           (copy, of_thread(stream)))
PER_THREAD(cuMemcpyBatchAsync,
           (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
            CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
            size_t* failed, CUstream stream),
           (to, from, bytes, count, attributes, attribute_indices, attribute_count, failed,
            of_thread(stream)))
PER_THREAD(cuMemcpy3DBatchAsync,
           (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, size_t* failed,
            unsigned long long flags, CUstream stream),
           (count, copies, failed, flags, of_thread(stream)))
PER_THREAD(cuMemcpyBatchAsync_v2,
           (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
            CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
            CUstream stream),
           (to, from, bytes, count, attributes, attribute_indices, attribute_count,
            of_thread(stream)))
PER_THREAD(cuMemcpy3DBatchAsync_v2,
           (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, unsigned long long flags,
            CUstream stream),
           (count, copies, flags, of_thread(stream)))
PER_THREAD(cuMemcpyWithAttributesAsync,
           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes_v1* attributes,
            CUstream stream),
           (to, from, bytes, attributes, of_thread(stream)))
PER_THREAD(cuMemcpy3DWithAttributesAsync,
           (CUDA_MEMCPY3D_BATCH_OP_v1 * copy, unsigned long long flags, CUstream stream),
           (copy, flags, of_thread(stream)))
PER_THREAD(cuMemPrefetchBatchAsync,
           (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
            size_t* location_indices, size_t location_count, unsigned long long flags,
            CUstream stream),
           (pointers, bytes, count, locations, location_indices, location_count, flags,
            of_thread(stream)))
PER_THREAD(cuMemDiscardAndPrefetchBatchAsync,
           (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
            size_t* location_indices, size_t location_count, unsigned long long flags,
            CUstream stream),
           (pointers, bytes, count, locations, location_indices, location_count, flags,
            of_thread(stream)))
PER_THREAD(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
           (to, value, count, of_thread(stream)))
PER_THREAD(cuMemsetD2D8Async,
           (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemsetD2D16Async,
           (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemsetD2D32Async,
           (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height,
            CUstream stream),
           (to, pitch, value, width, height, of_thread(stream)))
PER_THREAD(cuMemPrefetchAsync,
           (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream),
           (pointer, bytes, device, of_thread(stream)))
PER_THREAD(cuMemPrefetchAsync_v2,
           (CUdeviceptr pointer, size_t bytes, CUmemLocation location, unsigned int flags,
            CUstream stream),
           (pointer, bytes, location, flags, of_thread(stream)))
