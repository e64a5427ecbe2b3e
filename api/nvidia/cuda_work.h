/* The part of the CUDA driver API that gives a GPU work to do and waits for it: modules, launches,
 * streams, events, copies. Include cuda.h, which includes it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUevent_st* CUevent;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;

/* The default stream of the program (with null), and of each thread. */
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

typedef enum CUstream_flags_enum {
    CU_STREAM_DEFAULT = 0,
    CU_STREAM_NON_BLOCKING = 1
} CUstream_flags;

typedef enum CUevent_flags_enum {
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4
} CUevent_flags;

typedef enum CUevent_record_flags_enum {
    CU_EVENT_RECORD_DEFAULT = 0,
    CU_EVENT_RECORD_EXTERNAL = 1
} CUevent_record_flags;

typedef enum CUjit_option_enum { CU_JIT_MAX_REGISTERS = 0 } CUjit_option;
typedef enum CUlibraryOption_enum {
    CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE = 0
} CUlibraryOption;

typedef enum CUfunction_attribute_enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
    CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6
} CUfunction_attribute;

typedef enum CUlaunchAttributeID_enum {
    CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PRIORITY = 8
} CUlaunchAttributeID;

typedef union CUlaunchAttributeValue_union {
    char pad[64];
    int cooperative;
    int priority;
} CUlaunchAttributeValue;

typedef struct CUlaunchAttribute_st {
    CUlaunchAttributeID id;
    char pad[8 - sizeof(CUlaunchAttributeID)];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig_st {
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute* attrs;
    unsigned int numAttrs;
} CUlaunchConfig;

typedef void (*CUhostFn)(void* data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void* data);

/* In kernel launches' `extra`: the parameters as one buffer, and its size. */
#define CU_LAUNCH_PARAM_END ((void*)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void*)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void*)0x02)

#pragma GCC visibility push(default)

/* Of a call that takes a stream there are two: in the second a null stream is the default stream of
 * the calling thread, and not that of the program. It ends in _ptsz, or in _ptds where the call
 * names no stream but works in the default one. */
#define CU_CALL_PTSZ(name, arguments) \
    CUresult name arguments;          \
    CUresult name##_ptsz arguments;
#define CU_CALL_PTDS(name, arguments) \
    CUresult name arguments;          \
    CUresult name##_ptds arguments;

CUresult cuModuleLoad(CUmodule* module, const char* path);
CUresult cuModuleLoadData(CUmodule* module, const void* image);
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int option_count,
                            CUjit_option* options, void** option_values);
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule module,
                              const char* name);
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                           void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                           void** values, unsigned int count);
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options,
                               void** jit_values, unsigned int jit_count, CUlibraryOption* options,
                               void** values, unsigned int count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary library,
                            const char* name);
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel);
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncGetModule(CUmodule* module, CUfunction function);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int threads_per_block, size_t shared_bytes);

CU_CALL_PTSZ(cuLaunchKernel,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
              unsigned int block_x, unsigned int block_y, unsigned int block_z,
              unsigned int shared_bytes, CUstream stream, void** parameters, void** extra))
CU_CALL_PTSZ(cuLaunchKernelEx,
             (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))
CU_CALL_PTSZ(cuLaunchCooperativeKernel,
             (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
              unsigned int block_x, unsigned int block_y, unsigned int block_z,
              unsigned int shared_bytes, CUstream stream, void** parameters))
CU_CALL_PTSZ(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* data))
CU_CALL_PTSZ(cuLaunchHostFunc_v2,
             (CUstream stream, CUhostFn function, void* data, unsigned int mode))

CUresult cuStreamCreate(CUstream* stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamDestroy(CUstream stream);
CU_CALL_PTSZ(cuStreamQuery, (CUstream stream))
CU_CALL_PTSZ(cuStreamSynchronize, (CUstream stream))
CU_CALL_PTSZ(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))
CU_CALL_PTSZ(cuStreamAddCallback,
             (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags))
CU_CALL_PTSZ(cuStreamGetFlags, (CUstream stream, unsigned int* flags))
CU_CALL_PTSZ(cuStreamGetPriority, (CUstream stream, int* priority))
CU_CALL_PTSZ(cuStreamGetCtx, (CUstream stream, CUcontext* context))
CU_CALL_PTSZ(cuStreamGetId, (CUstream stream, unsigned long long* id))
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);

CUresult cuEventCreate(CUevent* event, unsigned int flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventDestroy(CUevent event);
CU_CALL_PTSZ(cuEventRecord, (CUevent event, CUstream stream))
CU_CALL_PTSZ(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags))
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end);

CU_CALL_PTDS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes))
CU_CALL_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes))
CU_CALL_PTDS(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes))
CU_CALL_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes))
CU_CALL_PTSZ(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))
CU_CALL_PTSZ(cuMemcpyHtoDAsync_v2,
             (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))
CU_CALL_PTSZ(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))
CU_CALL_PTSZ(cuMemcpyDtoDAsync_v2,
             (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))
CU_CALL_PTDS(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count))
CU_CALL_PTDS(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count))
CU_CALL_PTSZ(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))
CU_CALL_PTSZ(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream))

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
