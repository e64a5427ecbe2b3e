/* The part of the CUDA driver API about copies and fills of other shapes than a row of bytes, moves
 * of managed memory, and launches of CUDA 2. Include cuda.h, which includes it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes;
    size_t srcY;
    CUmemorytype srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    CUmemorytype dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} CUDA_MEMCPY2D_v2;

typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void* reserved0;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void* reserved1;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} CUDA_MEMCPY3D_v2;

/* The same, but for contexts where that has reserved fields. */
typedef struct CUDA_MEMCPY3D_PEER_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} CUDA_MEMCPY3D_PEER_v1;

typedef enum CUmemcpySrcAccessOrder_enum {
    CU_MEMCPY_SRC_ACCESS_ORDER_INVALID = 0,
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1
} CUmemcpySrcAccessOrder;

typedef struct CUmemcpyAttributes_st {
    CUmemcpySrcAccessOrder srcAccessOrder;
    CUmemLocation srcLocHint;
    CUmemLocation dstLocHint;
    unsigned int flags;
} CUmemcpyAttributes_v1;

typedef enum CUmemcpy3DOperandType_enum {
    CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
    CU_MEMCPY_OPERAND_TYPE_ARRAY = 2
} CUmemcpy3DOperandType;

typedef struct CUoffset3D_st {
    size_t x;
    size_t y;
    size_t z;
} CUoffset3D;

typedef struct CUextent3D_st {
    size_t width;
    size_t height;
    size_t depth;
} CUextent3D;

typedef struct CUmemcpy3DOperand_st {
    CUmemcpy3DOperandType type;
    union {
        struct {
            CUdeviceptr ptr;
            size_t rowLength;
            size_t layerHeight;
            CUmemLocation locHint;
        } ptr;
        struct {
            CUarray array;
            CUoffset3D offset;
        } array;
    } op;
} CUmemcpy3DOperand;

typedef struct CUDA_MEMCPY3D_BATCH_OP_st {
    CUmemcpy3DOperand src;
    CUmemcpy3DOperand dst;
    CUextent3D extent;
    CUmemcpySrcAccessOrder srcAccessOrder;
    unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP_v1;

typedef struct CUDA_LAUNCH_PARAMS_st {
    CUfunction function;
    unsigned int gridDimX;
    unsigned int gridDimY;
    unsigned int gridDimZ;
    unsigned int blockDimX;
    unsigned int blockDimY;
    unsigned int blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    void** kernelParams;
} CUDA_LAUNCH_PARAMS_v1;

#define CU_DEVICE_CPU ((CUdevice) - 1)

#pragma GCC visibility push(default)

CU_CALL_PTDS(cuMemcpyPeer, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                            CUcontext from_context, size_t bytes))
CU_CALL_PTSZ(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                 CUcontext from_context, size_t bytes, CUstream stream))
CU_CALL_PTDS(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes))
CU_CALL_PTDS(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes))
CU_CALL_PTDS(cuMemcpyHtoA_v2, (CUarray to, size_t offset, const void* from, size_t bytes))
CU_CALL_PTDS(cuMemcpyAtoH_v2, (void* to, CUarray from, size_t offset, size_t bytes))
CU_CALL_PTDS(cuMemcpyAtoA_v2,
             (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes))
CU_CALL_PTSZ(cuMemcpyHtoAAsync_v2,
             (CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream))
CU_CALL_PTSZ(cuMemcpyAtoHAsync_v2,
             (void* to, CUarray from, size_t offset, size_t bytes, CUstream stream))
CU_CALL_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D_v2* copy))
CU_CALL_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D_v2* copy))
CU_CALL_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D_v2* copy, CUstream stream))
CU_CALL_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D_v2* copy))
CU_CALL_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D_v2* copy, CUstream stream))
CU_CALL_PTDS(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER_v1* copy))
CU_CALL_PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream stream))
CU_CALL_PTSZ(cuMemcpyBatchAsync, (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                                  CUmemcpyAttributes_v1* attributes, size_t* attribute_indices,
                                  size_t attribute_count, size_t* failed, CUstream stream))
CU_CALL_PTSZ(cuMemcpy3DBatchAsync, (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies, size_t* failed,
                                    unsigned long long flags, CUstream stream))
CU_CALL_PTSZ(cuMemcpyBatchAsync_v2,
             (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
              CUmemcpyAttributes_v1* attributes, size_t* attribute_indices, size_t attribute_count,
              CUstream stream))
CU_CALL_PTSZ(cuMemcpy3DBatchAsync_v2, (size_t count, CUDA_MEMCPY3D_BATCH_OP_v1* copies,
                                       unsigned long long flags, CUstream stream))
CU_CALL_PTSZ(cuMemcpyWithAttributesAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                           CUmemcpyAttributes_v1* attributes, CUstream stream))
CU_CALL_PTSZ(cuMemcpy3DWithAttributesAsync,
             (CUDA_MEMCPY3D_BATCH_OP_v1 * copy, unsigned long long flags, CUstream stream))
CU_CALL_PTSZ(cuMemPrefetchBatchAsync,
             (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
              size_t* location_indices, size_t location_count, unsigned long long flags,
              CUstream stream))
CU_CALL_PTSZ(cuMemDiscardAndPrefetchBatchAsync,
             (CUdeviceptr * pointers, size_t* bytes, size_t count, CUmemLocation* locations,
              size_t* location_indices, size_t location_count, unsigned long long flags,
              CUstream stream))
CU_CALL_PTDS(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count))
CU_CALL_PTDS(cuMemsetD2D8_v2,
             (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height))
CU_CALL_PTDS(cuMemsetD2D16_v2,
             (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height))
CU_CALL_PTDS(cuMemsetD2D32_v2,
             (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height))
CU_CALL_PTSZ(cuMemsetD16Async,
             (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))
CU_CALL_PTSZ(cuMemsetD2D8Async, (CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                 size_t height, CUstream stream))
CU_CALL_PTSZ(cuMemsetD2D16Async, (CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                                  size_t height, CUstream stream))
CU_CALL_PTSZ(cuMemsetD2D32Async, (CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                  size_t height, CUstream stream))
CU_CALL_PTSZ(cuMemPrefetchAsync,
             (CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream))
CU_CALL_PTSZ(cuMemPrefetchAsync_v2, (CUdeviceptr pointer, size_t bytes, CUmemLocation location,
                                     unsigned int flags, CUstream stream))

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes);
CUresult cuParamSetSize(CUfunction function, unsigned int bytes);
CUresult cuParamSeti(CUfunction function, int offset, unsigned int value);
CUresult cuParamSetf(CUfunction function, int offset, float value);
CUresult cuParamSetv(CUfunction function, int offset, void* from, unsigned int bytes);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS_v1* launches, unsigned int count,
                                              unsigned int flags);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
