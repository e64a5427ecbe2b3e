// Arrays and mipmaps: memory that is identified by a handle.
#include "guard/hooks/memory/array_size.hpp"
#include "guard/hooks/take.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// `bytes` 0: the array takes nothing, and is not recorded.
template <typename Handle, typename Take, typename Undo>
CUresult create(Handle* handle, std::uint64_t bytes, const Take& take, const Undo& undo) {
    if (handle == nullptr || bytes == 0) return take();
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    return take_counted(
        current, bytes, take,
        [&] { return Taken{reinterpret_cast<std::uint64_t>(*handle), bytes}; }, undo);
}

std::uint64_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR* array) {
    return array == nullptr || is_mapped_later(*array) ? 0 : array_bytes(*array);
}

// For the descriptor types of both CUDA API versions.
template <typename Descriptor>
CUDA_ARRAY3D_DESCRIPTOR flat(const Descriptor& of) {
    return {of.Width, of.Height, 0, of.Format, of.NumChannels, 0};
}

// `whole`: the array that the descriptor requests.
template <typename Real, typename Descriptor>
CUresult create_array(const Real& real, CUarray* array, const Descriptor* descriptor,
                      const CUDA_ARRAY3D_DESCRIPTOR* whole) {
    return create(
        array, bytes_of(whole), [&] { return real(array, descriptor); },
        [&] { driver()->cuArrayDestroy(*array); });
}

}  // namespace

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
    const Entered real(&Driver::cuArrayCreate_v2);
    if (!real.must_enforce() || descriptor == nullptr) return real(array, descriptor);
    const CUDA_ARRAY3D_DESCRIPTOR whole = flat(*descriptor);
    return create_array(real, array, descriptor, &whole);
}

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* descriptor) {
    const Entered real(&Driver::cuArrayCreate);
    if (!real.must_enforce() || descriptor == nullptr) return real(array, descriptor);
    const CUDA_ARRAY3D_DESCRIPTOR whole = flat(*descriptor);
    return create_array(real, array, descriptor, &whole);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* descriptor) {
    const Entered real(&Driver::cuArray3DCreate);
    if (!real.must_enforce() || descriptor == nullptr) return real(array, descriptor);
    const CUDA_ARRAY3D_DESCRIPTOR whole = {descriptor->Width,       descriptor->Height,
                                           descriptor->Depth,       descriptor->Format,
                                           descriptor->NumChannels, descriptor->Flags};
    return create_array(real, array, descriptor, &whole);
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
    const Entered real(&Driver::cuArray3DCreate_v2);
    if (!real.must_enforce()) return real(array, descriptor);
    return create_array(real, array, descriptor, descriptor);
}

CUresult cuArrayDestroy(CUarray array) {
    const Entered real(&Driver::cuArrayDestroy);
    if (!real.must_enforce()) return real(array);
    return give_counted(reinterpret_cast<std::uint64_t>(array), [&] { return real(array); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* mipmap, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned int levels) {
    const Entered real(&Driver::cuMipmappedArrayCreate);
    if (!real.must_enforce()) return real(mipmap, descriptor, levels);
    const std::uint64_t bytes = bytes_of(descriptor) == 0 ? 0 : mipmap_bytes(*descriptor, levels);
    return create(
        mipmap, bytes, [&] { return real(mipmap, descriptor, levels); },
        [&] { driver()->cuMipmappedArrayDestroy(*mipmap); });
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap) {
    const Entered real(&Driver::cuMipmappedArrayDestroy);
    if (!real.must_enforce()) return real(mipmap);
    return give_counted(reinterpret_cast<std::uint64_t>(mipmap), [&] { return real(mipmap); });
}
