// What CUDA shows a program of its GPU: its share, as if that were the GPU.
#include "guard/hooks/enter.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/pools.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

template <typename Number>
Number smaller(Number one, std::uint64_t other) {
    return one < other ? one : static_cast<Number>(other);
}

// If the share does not fit into 32 bits, the driver's number stays: it is the largest one.
template <typename Number, typename Real>
CUresult tell_total(const Real& real, Number* bytes, CUdevice device) {
    const CUresult result = real(bytes, device);
    if (!real.must_enforce() || result != CUDA_SUCCESS || bytes == nullptr) return result;
    const int gpu = gpu_of(device);
    if (gpu < 0) return kNotGuarded;
    *bytes = smaller(*bytes, limit_bytes(gpu));
    return CUDA_SUCCESS;
}

// An argument that the caller does not want is null: the driver accepts that.
template <typename Number, typename Real>
CUresult tell_free(const Real& real, Number* free_bytes, Number* total_bytes) {
    const CUresult result = real(free_bytes, total_bytes);
    if (!real.must_enforce() || result != CUDA_SUCCESS) return result;
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    const std::uint64_t limit = limit_bytes(current.gpu);
    if (total_bytes != nullptr) *total_bytes = smaller(*total_bytes, limit);
    if (free_bytes == nullptr) return CUDA_SUCCESS;
    look_at_pools();
    const std::uint64_t held = held_bytes(current.gpu);
    *free_bytes = smaller(*free_bytes, held < limit ? limit - held : 0);
    return CUDA_SUCCESS;
}

}  // namespace

// Hooked so that a program that the guard cannot limit fails here, and not at its first allocation.
CUresult cuInit(unsigned int flags) {
    const Entered real(&Driver::cuInit);
    return real(flags);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    return tell_total(Entered(&Driver::cuDeviceTotalMem_v2), bytes, device);
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
    return tell_total(Entered(&Driver::cuDeviceTotalMem), bytes, device);
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    return tell_free(Entered(&Driver::cuMemGetInfo_v2), free_bytes, total_bytes);
}

CUresult cuMemGetInfo(unsigned int* free_bytes, unsigned int* total_bytes) {
    return tell_free(Entered(&Driver::cuMemGetInfo), free_bytes, total_bytes);
}
