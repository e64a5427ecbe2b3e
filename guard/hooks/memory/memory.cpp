// Device memory by address. It is reserved first and then taken: if the driver refuses, the
// reservation is released, and if the guard refuses, the driver is not called. The entry points of
// CUDA 2 are the same with pointers and sizes of 32 bits.
#include "guard/hooks/memory/pitch.hpp"
#include "guard/hooks/take.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

template <typename Real, typename Pointer, typename Size, typename Free>
CUresult allocate(const Real& real, Pointer* pointer, Size bytes, Free Driver::* free) {
    // The driver reports what is wrong with a call.
    if (!real.must_enforce() || pointer == nullptr || bytes == 0) return real(pointer, bytes);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    return take_counted(
        current, bytes, [&] { return real(pointer, bytes); },
        [&] { return Taken{*pointer, bytes}; }, [&] { (driver()->*free)(*pointer); });
}

template <typename Size>
struct Rows {
    Size width_bytes;
    Size height;
    unsigned element_bytes;
};

template <typename Real, typename Pointer, typename Size, typename Free>
CUresult allocate_rows(const Real& real, Pointer* pointer, Size* pitch, const Rows<Size>& rows,
                       Free Driver::* free) {
    const auto take = [&] {
        return real(pointer, pitch, rows.width_bytes, rows.height, rows.element_bytes);
    };
    if (!real.must_enforce() || pointer == nullptr || rows.width_bytes == 0 || rows.height == 0)
        return take();
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    const std::uint64_t expected = pitched(rows.width_bytes, rows.height);
    // A driver that accepts a null pitch does not report how it padded the rows.
    const auto taken = [&] {
        return Taken{*pointer, pitch != nullptr ? product(*pitch, rows.height) : expected};
    };
    return take_counted(current, expected, take, taken, [&] { (driver()->*free)(*pointer); });
}

template <typename Real, typename Pointer>
CUresult give(const Real& real, Pointer pointer) {
    if (!real.must_enforce()) return real(pointer);
    return give_counted(pointer, [&] { return real(pointer); });
}

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    return allocate(Entered(&Driver::cuMemAlloc_v2), pointer, bytes, &Driver::cuMemFree_v2);
}

CUresult cuMemAlloc(CUdeviceptr_v1* pointer, unsigned int bytes) {
    return allocate(Entered(&Driver::cuMemAlloc), pointer, bytes, &Driver::cuMemFree);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes) {
    return allocate_rows(Entered(&Driver::cuMemAllocPitch_v2), pointer, pitch,
                         Rows<size_t>{width_bytes, height, element_bytes}, &Driver::cuMemFree_v2);
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* pointer, unsigned int* pitch, unsigned int width_bytes,
                         unsigned int height, unsigned int element_bytes) {
    return allocate_rows(Entered(&Driver::cuMemAllocPitch), pointer, pitch,
                         Rows<unsigned>{width_bytes, height, element_bytes}, &Driver::cuMemFree);
}

// Charged in full to the GPU of the current device, wherever its pages are: all of them may be on
// the GPU at once. A driver takes whole allocation units for each.
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    const Entered real(&Driver::cuMemAllocManaged);
    if (!real.must_enforce() || pointer == nullptr || bytes == 0)
        return real(pointer, bytes, flags);
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    const std::uint64_t whole = rounded_up(bytes, kAllocationUnitBytes);
    return take_counted(
        current, whole, [&] { return real(pointer, bytes, flags); },
        [&] { return Taken{*pointer, whole}; }, [&] { driver()->cuMemFree_v2(*pointer); });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    return give(Entered(&Driver::cuMemFree_v2), pointer);
}

CUresult cuMemFree(CUdeviceptr_v1 pointer) {
    return give(Entered(&Driver::cuMemFree), pointer);
}
