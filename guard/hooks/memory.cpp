// Device memory by address. Set aside first, then taken: what the driver refuses is put back, and
// what the guard refuses the driver never hears of.
#include "guard/hooks/pitch.hpp"
#include "guard/hooks/take.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    const Entered real(&Driver::cuMemAlloc_v2);
    if (!real.is_held()) return real(pointer, bytes);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || bytes == 0) return real(pointer, bytes);
    return take_held(
        current, bytes, [&] { return real(pointer, bytes); },
        [&] { return Taken{*pointer, bytes}; }, [&] { driver()->cuMemFree_v2(*pointer); });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes) {
    const Entered real(&Driver::cuMemAllocPitch_v2);
    const auto take = [&] { return real(pointer, pitch, width_bytes, height, element_bytes); };
    if (!real.is_held()) return take();
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || pitch == nullptr || width_bytes == 0 || height == 0) return take();
    return take_held(
        current, pitched(width_bytes, height), take,
        [&] { return Taken{*pointer, product(*pitch, height)}; },
        [&] { driver()->cuMemFree_v2(*pointer); });
}

// Counts in full on the card of the current device, wherever its pages are just now: all of them
// may be on the card at once. A driver takes whole granules for each.
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    const Entered real(&Driver::cuMemAllocManaged);
    if (!real.is_held()) return real(pointer, bytes, flags);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    if (pointer == nullptr || bytes == 0) return real(pointer, bytes, flags);
    const std::uint64_t whole = rounded_up(bytes, kGranuleBytes);
    return take_held(
        current, whole, [&] { return real(pointer, bytes, flags); },
        [&] { return Taken{*pointer, whole}; }, [&] { driver()->cuMemFree_v2(*pointer); });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    const Entered real(&Driver::cuMemFree_v2);
    if (!real.is_held()) return real(pointer);
    return give_held(pointer, [&] { return real(pointer); });
}
