// Copies and fills: between host and card they are the work of the card's copy engines, within the
// card that of those that run kernels.
#include "guard/hooks/work.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

#define IN_STREAM(name, kind, parameters, arguments)                                               \
    CUresult name parameters {                                                                     \
        return give_work(&Driver::name, WorkKind::kind, stream, EACH arguments);                   \
    }                                                                                              \
    CUresult name##_ptsz parameters {                                                              \
        return give_work(&Driver::name##_ptsz, WorkKind::kind, of_thread(stream), EACH arguments); \
    }
// Some of these come back before they are done: `how` says.
#define IN_DEFAULT_STREAM(name, kind, how, parameters, arguments)                               \
    CUresult name parameters {                                                                  \
        return how(&Driver::name, WorkKind::kind, nullptr, EACH arguments);                     \
    }                                                                                           \
    CUresult name##_ptds parameters {                                                           \
        return how(&Driver::name##_ptds, WorkKind::kind, CU_STREAM_PER_THREAD, EACH arguments); \
    }
#define EACH(...) __VA_ARGS__

IN_STREAM(cuMemcpyAsync, copies, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemcpyHtoDAsync_v2, copies,
          (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemcpyDtoHAsync_v2, copies, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemcpyDtoDAsync_v2, kernels,
          (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
          (to, from, bytes, stream))
IN_STREAM(cuMemsetD8Async, kernels,
          (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
          (to, value, count, stream))
IN_STREAM(cuMemsetD32Async, kernels,
          (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
          (to, value, count, stream))

IN_DEFAULT_STREAM(cuMemcpy, copies, do_work, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                  (to, from, bytes))
IN_DEFAULT_STREAM(cuMemcpyHtoD_v2, copies, do_work,
                  (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
IN_DEFAULT_STREAM(cuMemcpyDtoH_v2, copies, do_work, (void* to, CUdeviceptr from, size_t bytes),
                  (to, from, bytes))
IN_DEFAULT_STREAM(cuMemcpyDtoD_v2, kernels, give_work,
                  (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
IN_DEFAULT_STREAM(cuMemsetD8_v2, kernels, give_work,
                  (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))
IN_DEFAULT_STREAM(cuMemsetD32_v2, kernels, give_work,
                  (CUdeviceptr to, unsigned int value, size_t count), (to, value, count))
