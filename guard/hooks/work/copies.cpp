// Copies and fills of a row of bytes.
#include "guard/hooks/work/copies.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

IN_STREAM(cuMemcpyAsync, WorkKind::copies,
          (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemcpyHtoDAsync_v2, WorkKind::copies,
          (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemcpyDtoHAsync_v2, WorkKind::copies,
          (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
IN_STREAM(cuMemcpyDtoDAsync_v2, WorkKind::kernels,
          (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemsetD8Async, WorkKind::kernels,
          (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
          (to, value, count, stream))
IN_STREAM(cuMemsetD32Async, WorkKind::kernels,
          (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
          (to, value, count, stream))

COPY_THAT_WAITS(cuMemcpy, cuMemcpyAsync, WorkKind::copies, bytes,
                (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
COPY_THAT_WAITS(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, WorkKind::copies, bytes,
                (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
COPY_THAT_WAITS(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, WorkKind::copies, bytes,
                (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
IN_DEFAULT_STREAM(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  (to, from, bytes))
IN_DEFAULT_STREAM(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),
                  (to, value, count))
IN_DEFAULT_STREAM(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count),
                  (to, value, count))
