// IPC handles: memory that several processes have counts once, until the last of them releases it
// (process/shared_memory.hpp).
#include "guard/hooks/enter.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/shared_memory.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// The GPU and the size of the memory at the pointer. If the driver does not report the GPU, it is
// the current context's.
CUresult find_opened(CUdeviceptr pointer, int& gpu, AllocationUnits& units) {
    const Driver& real = *driver();
    std::size_t bytes = 0;
    if (real.cuMemGetAddressRange_v2) {
        const CUresult unknown = real.cuMemGetAddressRange_v2(nullptr, &bytes, pointer);
        if (unknown != CUDA_SUCCESS) return unknown;
    }
    units = units_of(bytes);
    int device = 0;
    if (real.cuPointerGetAttribute &&
        real.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) ==
            CUDA_SUCCESS) {
        gpu = gpu_of(device);
        return gpu >= 0 ? CUDA_SUCCESS : kNotGuarded;
    }
    Current current;
    const CUresult none = find_current(current);
    gpu = current.gpu;
    return none;
}

// The maker has died, and its charge was released a moment before the driver noticed. Then this
// process is charged for the memory.
CUresult adopt_opened(CUdeviceptr pointer, std::uint64_t key, int& index) {
    int gpu = -1;
    AllocationUnits units = 0;
    CUresult result = find_opened(pointer, gpu, units);
    if (result == CUDA_SUCCESS) result = take_for_adoption(gpu, units);
    if (result == CUDA_SUCCESS) {
        index = adopt({key, units}, gpu, -1);
        if (index >= 0) return CUDA_SUCCESS;
        give_units(gpu, units);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    driver()->cuIpcCloseMemHandle(pointer);
    return result;
}

// The import is recorded before the handle is opened, because the maker may release the memory at
// any moment.
template <typename Open>
CUresult open_handle(CUdeviceptr* pointer, const CUipcMemHandle& handle, const Open& open) {
    const std::uint64_t key = key_of(handle);
    int index = begin_import(key);
    CUresult result = open();
    if (index < 0 && result == CUDA_SUCCESS && was_exported(key))
        result = adopt_opened(*pointer, key, index);
    if (index < 0) return result;
    CUcontext context = nullptr;
    driver()->cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS) {
        note_opened(*pointer, context, index);
    } else {
        end_import(index);
    }
    return result;
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
    const Entered real(&Driver::cuIpcGetMemHandle);
    const CUresult result = real(handle, pointer);
    if (!real.must_enforce() || result != CUDA_SUCCESS || handle == nullptr) return result;
    return note_exported(pointer, key_of(*handle)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    const Entered real(&Driver::cuIpcOpenMemHandle);
    if (!real.must_enforce() || pointer == nullptr) return real(pointer, handle, flags);
    return open_handle(pointer, handle, [&] { return real(pointer, handle, flags); });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    const Entered real(&Driver::cuIpcOpenMemHandle_v2);
    if (!real.must_enforce() || pointer == nullptr) return real(pointer, handle, flags);
    return open_handle(pointer, handle, [&] { return real(pointer, handle, flags); });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    const Entered real(&Driver::cuIpcCloseMemHandle);
    if (!real.must_enforce()) return real(pointer);
    const OpenedAddress closing = take_opened(pointer);
    const CUresult result = real(pointer);
    if (closing.address == 0) return result;
    if (result == CUDA_SUCCESS) {
        end_import(closing.index);
    } else {
        put_opened_back(closing);
    }
    return result;
}
