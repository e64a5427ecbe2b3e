// Device memory by address. Set aside first, then taken: what the driver refuses is put back, and
// what the guard refuses the driver never hears of.
#include "guard/hooks/enter.hpp"
#include "guard/process/pools.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    const Entered real(&Driver::cuMemAlloc_v2);
    if (!real.is_held()) return real(pointer, bytes);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || bytes == 0) return real(pointer, bytes);
    if (const CUresult over = set_aside(current.card, bytes); over != CUDA_SUCCESS) return over;
    CUresult result = real(pointer, bytes);
    if (result == CUDA_SUCCESS) {
        if (note({*pointer, current.context, bytes, current.card})) return CUDA_SUCCESS;
        driver()->cuMemFree_v2(*pointer);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    put_back(current.card, bytes);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    const Entered real(&Driver::cuMemFree_v2);
    if (!real.is_held()) return real(pointer);
    const Holding held = take_note(pointer);
    const CUresult result = real(pointer);
    if (held.address == 0) return result;
    if (result != CUDA_SUCCESS) {
        note(held);  // there is room: it has just been taken out
    } else if (held.pool == nullptr) {
        put_back(held.card, held.bytes);
    } else {
        note_freed(held, nullptr, true);
    }
    return result;
}
