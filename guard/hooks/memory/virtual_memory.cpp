// Virtual memory: what cuMemCreate takes of a GPU is charged until it is gone
// (process/physical.hpp). Reserved addresses and host memory take nothing. Exported and imported
// memory counts once among the processes of the container that have it.
#include "guard/hooks/enter.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/location.hpp"
#include "guard/process/physical.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
    const Entered real(&Driver::cuMemCreate);
    if (!real.must_enforce()) return real(handle, bytes, properties, flags);
    if (handle == nullptr || properties == nullptr) return real(handle, bytes, properties, flags);
    const MemoryPlace place = place_of(properties->location);
    const int gpu = gpu_at(place);
    if (gpu == kNoGpu) return real(handle, bytes, properties, flags);
    if (gpu < 0) {
        // The driver reports what is wrong, unless the container simply has no share of the GPU.
        const bool is_there = place.kind != MemoryPlace::Kind::device || is_of_others(place.device);
        return is_there ? kNotGuarded : real(handle, bytes, properties, flags);
    }
    if (const CUresult over = reserve(gpu, bytes); over != CUDA_SUCCESS) return over;
    CUresult result = real(handle, bytes, properties, flags);
    if (result == CUDA_SUCCESS) {
        if (physical_memory().record(*handle, gpu, bytes)) return CUDA_SUCCESS;
        driver()->cuMemRelease(*handle);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    release(gpu, bytes);
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    const Entered real(&Driver::cuMemRelease);
    if (!real.must_enforce()) return real(handle);
    return physical_memory().release(handle, [&] { return real(handle); });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
    const Entered real(&Driver::cuMemRetainAllocationHandle);
    if (!real.must_enforce() || handle == nullptr) return real(handle, address);
    return physical_memory().retain(handle, [&] { return real(handle, address); });
}

// For other types of handles, the export cannot be recorded for other processes.
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    const Entered real(&Driver::cuMemExportToShareableHandle);
    const auto give = [&] { return real(shareable, handle, type, flags); };
    if (!real.must_enforce() || shareable == nullptr ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return give();
    return physical_memory().share(handle, static_cast<const int*>(shareable), give);
}

// A driver may return the handle that this process's own memory already has.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
    const Entered real(&Driver::cuMemImportFromShareableHandle);
    const auto take = [&] { return real(handle, shareable, type); };
    if (!real.must_enforce() || handle == nullptr) return take();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return physical_memory().retain(handle, take);
    const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
    return physical_memory().import(handle, fd, take);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const Entered real(&Driver::cuMemMap);
    if (!real.must_enforce()) return real(pointer, bytes, offset, handle, flags);
    return physical_memory().map({pointer, bytes, handle, 0},
                                 [&] { return real(pointer, bytes, offset, handle, flags); });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
    const Entered real(&Driver::cuMemUnmap);
    if (!real.must_enforce()) return real(pointer, bytes);
    const CUresult result = real(pointer, bytes);
    if (result == CUDA_SUCCESS) physical_memory().note_unmapped(pointer, bytes);
    return result;
}
