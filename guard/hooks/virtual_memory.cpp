// Virtual memory: what cuMemCreate takes of a card counts until it is gone (process/physical.hpp).
// Reserved addresses take nothing, nor does the host's memory; what is exported and imported counts
// once among those of the container who have it.
#include "guard/hooks/enter.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/location.hpp"
#include "guard/process/physical.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
    const Entered real(&Driver::cuMemCreate);
    if (!real.is_held()) return real(handle, bytes, properties, flags);
    if (handle == nullptr || properties == nullptr) return real(handle, bytes, properties, flags);
    const MemoryPlace place = place_of(properties->location);
    const int card = card_at(place);
    if (card == kNoCard) return real(handle, bytes, properties, flags);
    if (card < 0) {
        // The driver says what is wrong, unless nothing is but that the card is of others.
        const bool is_there = place.kind != MemoryPlace::Kind::device || is_of_others(place.device);
        return is_there ? kNotGuarded : real(handle, bytes, properties, flags);
    }
    if (const CUresult over = set_aside(card, bytes); over != CUDA_SUCCESS) return over;
    CUresult result = real(handle, bytes, properties, flags);
    if (result == CUDA_SUCCESS) {
        if (physical_memory().note(*handle, card, bytes)) return CUDA_SUCCESS;
        driver()->cuMemRelease(*handle);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    put_back(card, bytes);
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    const Entered real(&Driver::cuMemRelease);
    if (!real.is_held()) return real(handle);
    return physical_memory().release(handle, [&] { return real(handle); });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
    const Entered real(&Driver::cuMemRetainAllocationHandle);
    if (!real.is_held() || handle == nullptr) return real(handle, address);
    return physical_memory().retain(handle, [&] { return real(handle, address); });
}

// Of the other types of handles nobody can be told.
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
    const Entered real(&Driver::cuMemExportToShareableHandle);
    const auto give = [&] { return real(shareable, handle, type, flags); };
    if (!real.is_held() || shareable == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return give();
    return physical_memory().share(handle, static_cast<const int*>(shareable), give);
}

// A driver may give one's own memory the handle that it has.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
    const Entered real(&Driver::cuMemImportFromShareableHandle);
    const auto take = [&] { return real(handle, shareable, type); };
    if (!real.is_held() || handle == nullptr) return take();
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return physical_memory().retain(handle, take);
    const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
    return physical_memory().import(handle, fd, take);
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const Entered real(&Driver::cuMemMap);
    if (!real.is_held()) return real(pointer, bytes, offset, handle, flags);
    return physical_memory().map({pointer, bytes, handle, 0},
                                 [&] { return real(pointer, bytes, offset, handle, flags); });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
    const Entered real(&Driver::cuMemUnmap);
    if (!real.is_held()) return real(pointer, bytes);
    const CUresult result = real(pointer, bytes);
    if (result == CUDA_SUCCESS) physical_memory().note_unmapped(pointer, bytes);
    return result;
}
