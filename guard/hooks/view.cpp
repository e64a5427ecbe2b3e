// What a program is told of its card: its share, as if that were the card.
#include "guard/hooks/enter.hpp"
#include "guard/process/pools.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

std::size_t smaller(std::size_t one, std::size_t other) {
    return one < other ? one : other;
}

}  // namespace

// Hooked so that a program that can't be held fails here, and not at its first allocation.
CUresult cuInit(unsigned int flags) {
    const Entered real(&Driver::cuInit);
    return real(flags);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    const Entered real(&Driver::cuDeviceTotalMem_v2);
    if (!real.is_held()) return real(bytes, device);
    const CUresult result = real(bytes, device);
    if (result != CUDA_SUCCESS) return result;
    const int card = card_of(device);
    if (card < 0) return kNotGuarded;
    *bytes = smaller(*bytes, limit_bytes(card));
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    const Entered real(&Driver::cuMemGetInfo_v2);
    if (!real.is_held()) return real(free_bytes, total_bytes);
    const CUresult result = real(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS) return result;
    Current current;
    if (const CUresult none = find_current(current); none != CUDA_SUCCESS) return none;
    look_at_pools();
    const std::uint64_t limit = limit_bytes(current.card);
    const std::uint64_t held = held_bytes(current.card);
    *free_bytes = smaller(*free_bytes, held < limit ? limit - held : 0);
    *total_bytes = smaller(*total_bytes, limit);
    return CUDA_SUCCESS;
}
