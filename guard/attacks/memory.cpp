// Attacks by memory of every family.
#include <cstring>
#include <string>

#include "guard/attacks/attack.hpp"

namespace tessera::attacks {

void managed() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++) {
        if (CUDA(cuMemAllocManaged)(&pointer, kStep, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
            CUDA(cuMemsetD8_v2)(pointer, 1, kStep);
    }
}
void rows() {
    begin();
    CUdeviceptr pointer = 0;
    std::size_t pitch = 0;
    for (int i = 0; i < 4; i++)
        CUDA(cuMemAllocPitch_v2)(&pointer, &pitch, kMiB, 512, 4);
}
void array() {
    begin();
    CUarray made = nullptr;
    const CUDA_ARRAY_DESCRIPTOR wanted = {16384, 8192, CU_AD_FORMAT_FLOAT, 1};
    for (int i = 0; i < 4; i++)
        CUDA(cuArrayCreate_v2)(&made, &wanted);
}
void mipmap() {
    begin();
    CUmipmappedArray made = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR wanted = {16384, 8192, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    for (int i = 0; i < 4; i++)
        CUDA(cuMipmappedArrayCreate)(&made, &wanted, 4);
}
void many_small() {
    begin();
    const auto alloc = CUDA(cuMemAlloc_v2);
    CUdeviceptr pointer = 0;
    constexpr std::size_t kSmall = kMiB / 2;
    for (std::size_t i = 0; i < kTaken / kSmall; i++)
        alloc(&pointer, kSmall);
}
void stream_ordered() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++)
        CUDA(cuMemAllocAsync)(&pointer, kStep, nullptr);
}
void own_pool() {
    begin();
    take_from(make_pool({CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ALLOCATION_TYPE_PINNED));
}
void managed_pool() {
    begin();
    take_from(make_pool({CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ALLOCATION_TYPE_MANAGED));
}
void default_managed_pool() {
    begin();
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemoryPool pool = nullptr;
    CUDA(cuMemGetDefaultMemPool)(&pool, &location, CU_MEM_ALLOCATION_TYPE_MANAGED);
    take_from(pool);
}
void device_part_pool() {
    begin();
    take_from(
        make_pool({CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, 0}, CU_MEM_ALLOCATION_TYPE_PINNED));
}
void destroyed_pools() {
    begin();
    CUdeviceptr pointer = 0;
    for (int i = 0; i < 4; i++) {
        CUmemoryPool pool =
            make_pool({CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ALLOCATION_TYPE_PINNED);
        CUDA(cuMemAllocFromPoolAsync)(&pointer, kStep, pool, nullptr);
        CUDA(cuMemPoolDestroy)(pool);
    }
}

void physical() {
    begin();
    for (int i = 0; i < 4; i++)
        create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
}
void physical_of_part() {
    begin();
    for (int i = 0; i < 4; i++)
        create(CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN, CU_MEM_HANDLE_TYPE_NONE);
}
void released_handles() {
    begin();
    for (int i = 0; i < 4; i++) {
        const auto handle = create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
        CUdeviceptr address = 0;
        CUDA(cuMemAddressReserve)(&address, kStep, 0, 0, 0);
        CUDA(cuMemMap)(address, kStep, 0, handle, 0);
        CUDA(cuMemRelease)(handle);
    }
}
void descriptors_alone() {
    begin();
    for (int i = 0; i < 4; i++) {
        const auto handle =
            create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        int fd = -1;
        CUDA(cuMemExportToShareableHandle)
        (&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        CUDA(cuMemRelease)(handle);
    }
}

void run(CUgraph graph) {
    CUgraphExec exec = nullptr;
    if (CUDA(cuGraphInstantiateWithFlags)(&exec, graph, 0) != CUDA_SUCCESS) return;
    CUDA(cuGraphLaunch)(exec, nullptr);
    CUDA(cuCtxSynchronize)();
}
void graph_memory() {
    begin();
    for (int i = 0; i < 4; i++) {
        CUgraph graph = nullptr;
        CUgraphNode node = nullptr;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {};
        wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        wanted.bytesize = kStep;
        CUDA(cuGraphCreate)(&graph, 0);
        CUDA(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &wanted);
        run(graph);
    }
}
void captured_memory() {
    begin();
    CUstream stream = nullptr;
    CUDA(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 4; i++) {
        CUgraph graph = nullptr;
        CUdeviceptr pointer = 0;
        CUDA(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        CUDA(cuMemAllocAsync)(&pointer, kStep, stream);
        CUDA(cuStreamEndCapture)(stream, &graph);
        run(graph);
    }
}
void module_variables() {
    begin();
    const std::string image =
        ".version 6.0\n.global .align 8 .b8 table[" + std::to_string(kStep) + "];\n";
    CUmodule module = nullptr;
    for (int i = 0; i < 4; i++)
        CUDA(cuModuleLoadData)(&module, image.c_str());
}
void heap_limit() {
    begin();
    CUDA(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, kTaken);
}
void stack_limit() {
    begin();
    CUDA(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, kMiB / 16);
}
void many_contexts() {
    begin();
    CUcontext context = nullptr;
    for (int i = 0; i < 20; i++)
        CUDA(cuCtxCreate_v2)(&context, 0, 0);
}
void detached_contexts() {
    begin();
    CUcontext context = nullptr;
    CUcontext attached = nullptr;
    for (int i = 0; i < 20; i++) {
        if (CUDA(cuCtxCreate_v2)(&context, 0, 0) != CUDA_SUCCESS) return;
        CUDA(cuCtxAttach)(&attached, 0);
        CUDA(cuCtxDetach)(context);
    }
}
void green_contexts() {
    begin();
    CUdevResource all = {};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    CUDA(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM);
    CUDA(cuDevResourceGenerateDesc)(&description, &all, 1);
    for (int i = 0; i < 100; i++)
        CUDA(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
}

// Handles of the type that nodes pass to each other, or descriptors if the driver has no such
// handles.
void fabric_handles() {
    begin();
    for (int i = 0; i < 4; i++) {
        char exported[64] = {};
        auto type = CU_MEM_HANDLE_TYPE_FABRIC;
        CUmemGenericAllocationHandle made = create(CU_MEM_LOCATION_TYPE_DEVICE, type);
        if (made == 0) {
            type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
            made = create(CU_MEM_LOCATION_TYPE_DEVICE, type);
        }
        CUDA(cuMemExportToShareableHandle)(exported, made, type, 0);
        CUmemGenericAllocationHandle imported = 0;
        int fd = -1;
        std::memcpy(&fd, exported, sizeof fd);
        void* source = exported;
        if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
            source = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
        CUDA(cuMemImportFromShareableHandle)(&imported, source, type);
        CUDA(cuMemRelease)(made);
    }
}
// Only an import as external memory keeps the physical memory.
void external_memory() {
    begin();
    for (int i = 0; i < 4; i++) {
        const auto made =
            create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        int fd = -1;
        CUDA(cuMemExportToShareableHandle)
        (&fd, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = {};
        from.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
        from.handle.fd = fd;
        from.size = kStep;
        CUexternalMemory imported = nullptr;
        CUDA(cuImportExternalMemory)(&imported, &from);
        CUDA(cuMemRelease)(made);
    }
}

}  // namespace tessera::attacks
