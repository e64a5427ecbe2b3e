// IPC handles: memory that several processes have counts once, until the last of them lets go
// (process/exports.hpp).
#include "guard/hooks/enter.hpp"
#include "guard/process/exports.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

// Said before it is opened: whoever made it may let go at any moment.
template <typename Open>
CUresult open_handle(CUdeviceptr* pointer, const CUipcMemHandle& handle, const Open& open) {
    const int index = join_export(key_of(handle));
    const CUresult result = open();
    if (index < 0) return result;
    CUcontext context = nullptr;
    driver()->cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS) {
        note_opened(*pointer, context, index);
    } else {
        leave_export(index);
    }
    return result;
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
    const Entered real(&Driver::cuIpcGetMemHandle);
    const CUresult result = real(handle, pointer);
    if (!real.is_held() || result != CUDA_SUCCESS) return result;
    return note_exported(pointer, key_of(*handle)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    const Entered real(&Driver::cuIpcOpenMemHandle);
    if (!real.is_held()) return real(pointer, handle, flags);
    return open_handle(pointer, handle, [&] { return real(pointer, handle, flags); });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    const Entered real(&Driver::cuIpcOpenMemHandle_v2);
    if (!real.is_held()) return real(pointer, handle, flags);
    return open_handle(pointer, handle, [&] { return real(pointer, handle, flags); });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    const Entered real(&Driver::cuIpcCloseMemHandle);
    const CUresult result = real(pointer);
    if (real.is_held() && result == CUDA_SUCCESS) note_closed(pointer);
    return result;
}
