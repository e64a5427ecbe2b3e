// The entry points of CUDA 2, with pointers and sizes of 32 bits: the same memory.
#include "guard/hooks/pitch.hpp"
#include "guard/hooks/take.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
    const Entered real(&Driver::cuMemAlloc);
    if (!real.is_held()) return real(pointer, bytes);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || bytes == 0) return real(pointer, bytes);
    return take_held(
        current, bytes, [&] { return real(pointer, bytes); },
        [&] { return Taken{*pointer, bytes}; }, [&] { driver()->cuMemFree(*pointer); });
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch, unsigned int width_bytes,
                         unsigned int height, unsigned int element_bytes) {
    const Entered real(&Driver::cuMemAllocPitch);
    const auto take = [&] { return real(pointer, pitch, width_bytes, height, element_bytes); };
    if (!real.is_held()) return take();
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || pitch == nullptr || width_bytes == 0 || height == 0) return take();
    return take_held(
        current, pitched(width_bytes, height), take,
        [&] { return Taken{*pointer, product(*pitch, height)}; },
        [&] { driver()->cuMemFree(*pointer); });
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
    const Entered real(&Driver::cuMemFree);
    if (!real.is_held()) return real(pointer);
    return give_held(pointer, [&] { return real(pointer); });
}
