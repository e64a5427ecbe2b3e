// Goal: programs built against the vendor's headers work with ours. Method: sizes, offsets and
// values from those headers. A difference fails the build of gpusim_test; nothing runs.
#include <cstddef>

#include "api/nvidia/cuda.h"
#include "api/nvidia/nvml.h"

static_assert(sizeof(CUresult) == 4 && sizeof(CUdevice) == 4 && sizeof(CUdeviceptr) == 8);
static_assert(sizeof(CUuuid) == 16 && sizeof(CUcontext) == 8);
static_assert(sizeof(CUexecAffinityParam) == 8);
static_assert(sizeof(CUctxCreateParams) == 24 && offsetof(CUctxCreateParams, cigParams) == 16);
static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NO_DEVICE == 100);
static_assert(CUDA_ERROR_INVALID_CONTEXT == 201 && CUDA_ERROR_CONTEXT_IS_DESTROYED == 709);

static_assert(CUDA_ERROR_MAP_FAILED == 205 && CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED == 713);

static_assert(sizeof(CUdeviceptr_v1) == 4 && sizeof(CUmemGenericAllocationHandle) == 8);
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR) == 24 && sizeof(CUDA_ARRAY3D_DESCRIPTOR) == 40);
static_assert(offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags) == 32);
static_assert(sizeof(CUDA_ARRAY_DESCRIPTOR_v1) == 16 && sizeof(CUDA_ARRAY3D_DESCRIPTOR_v1) == 24);
static_assert(sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS) == 32);
static_assert(sizeof(CUmemLocation) == 8 && sizeof(CUmemAccessDesc) == 12);
static_assert(sizeof(CUmemAllocationProp) == 32 && offsetof(CUmemAllocationProp, location) == 8);
static_assert(offsetof(CUmemAllocationProp, allocFlags.usage) == 26);
static_assert(sizeof(CUmemPoolProps) == 88 && offsetof(CUmemPoolProps, maxSize) == 24);
static_assert(CU_MEMPOOL_ATTR_USED_MEM_HIGH == 8 && CU_MEMPOOL_ATTR_LOCATION_TYPE == 12);
static_assert(sizeof(CUdevResource) == 144 && offsetof(CUdevResource, of) == 96);
static_assert(sizeof(CUipcMemHandle) == 64);
static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1) == 120 &&
              offsetof(CUDA_MEM_ALLOC_NODE_PARAMS_v1, bytesize) == 104);
static_assert(sizeof(CUgraphNodeParams) == 256 && offsetof(CUgraphNodeParams, of) == 16);
static_assert(sizeof(CUgraphEdgeData) == 8);
static_assert(sizeof(CUDA_MEMCPY2D_v2) == 128 && sizeof(CUDA_MEMCPY3D_v2) == 200);
static_assert(sizeof(CUDA_MEMCPY3D_PEER_v1) == 200 && sizeof(CUmemcpyAttributes_v1) == 24);
static_assert(sizeof(CUmemcpy3DOperand) == 40 && sizeof(CUDA_MEMCPY3D_BATCH_OP_v1) == 112);
static_assert(sizeof(CUDA_LAUNCH_PARAMS_v1) == 56);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) == 104 &&
              offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size) == 24);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) == 88);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC) == 120);
static_assert(CU_POINTER_ATTRIBUTE_RANGE_SIZE == 12 && CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE == 17);

static_assert(sizeof(nvmlMemory_t) == 24 && offsetof(nvmlMemory_t, used) == 16);
static_assert(sizeof(nvmlMemory_v2_t) == 40 && offsetof(nvmlMemory_v2_t, reserved) == 16);
static_assert(nvmlMemory_v2 == 0x02000028);
static_assert(sizeof(nvmlSetMemoryLimits_v1_t) == 24);
static_assert(sizeof(nvmlGetMemoryLimits_v1_t) == 32 &&
              offsetof(nvmlGetMemoryLimits_v1_t, currentUsed) == 24);
static_assert(sizeof(nvmlPciInfo_t) == 68 && offsetof(nvmlPciInfo_t, busId) == 36);
static_assert(sizeof(nvmlPciInfo_v2_t) == 52);
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16);
static_assert(sizeof(nvmlProcessInfo_v2_t) == 24 &&
              offsetof(nvmlProcessInfo_v2_t, gpuInstanceId) == 16);
static_assert(sizeof(nvmlUtilization_t) == 8);
static_assert(sizeof(nvmlFieldValue_t) == 40 && offsetof(nvmlFieldValue_t, value) == 32);
static_assert(offsetof(nvmlFieldValue_t, nvmlReturn) == 28);
static_assert(sizeof(nvmlEventData_t) == 32 && offsetof(nvmlEventData_t, gpuInstanceId) == 24);
static_assert(NVML_ERROR_INSUFFICIENT_SIZE == 7 && NVML_ERROR_GPU_IS_LOST == 15);
static_assert(NVML_ERROR_TIMEOUT == 10 && NVML_ERROR_UNKNOWN == 999);
static_assert(nvmlEventTypeXidCriticalError == 8);
static_assert(NVML_COMPUTEMODE_PROHIBITED == 2 && NVML_COMPUTEMODE_EXCLUSIVE_PROCESS == 3);
static_assert(NVML_MEMORY_ERROR_TYPE_UNCORRECTED == 1 && NVML_VOLATILE_ECC == 0);
