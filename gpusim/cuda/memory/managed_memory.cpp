#include "gpusim/cuda/memory/managed_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/work/capture.hpp"

using gpusim::Context;
using gpusim::kAllocationUnitBytes;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

struct ManagedRange : Range {
    std::size_t resident;  // allocation units that are on the GPU
    bool* is_resident;     // by allocation unit
};

void give_back(Range* range) {
    auto* mine = static_cast<ManagedRange*>(range);
    gpusim::remove_range(*mine);
    munmap(gpusim::address(mine->base), mine->extent);
    if (mine->resident > 0) {
        gpusim::discharge(mine->context->gpu, mine->resident * kAllocationUnitBytes, 0);
    }
    std::free(mine->is_resident);
    std::free(mine);
}

CUresult enter(ManagedRange& range, Context& context, std::size_t bytes) {
    const std::size_t units = (bytes - 1) / kAllocationUnitBytes + 1;
    range.bytes = bytes;
    if (__builtin_mul_overflow(units, kAllocationUnitBytes, &range.extent)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range.is_resident = static_cast<bool*>(std::calloc(units, sizeof(bool)));
    void* pages = mmap(nullptr, range.extent, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    range.base = reinterpret_cast<CUdeviceptr>(pages);
    range.kind = RangeKind::managed;
    range.device = context.device;
    range.release = give_back;
    if (range.is_resident != nullptr && gpusim::add_range(range, &context)) return CUDA_SUCCESS;
    munmap(pages, range.extent);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

namespace gpusim {

void touch_managed(CUdeviceptr pointer, std::size_t bytes) {
    Range* range = find_range(pointer);
    if (range == nullptr || range->kind != RangeKind::managed || bytes == 0) return;
    auto* mine = static_cast<ManagedRange*>(range);
    const std::size_t first = (pointer - mine->base) / kAllocationUnitBytes;
    const std::size_t last = (pointer - mine->base + bytes - 1) / kAllocationUnitBytes;
    for (std::size_t unit = first; unit <= last; unit++) {
        if (mine->is_resident[unit]) continue;
        if (charge(mine->context->gpu, kAllocationUnitBytes, 0) != CUDA_SUCCESS) return;
        mine->is_resident[unit] = true;
        mine->resident++;
    }
}

}  // namespace gpusim

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    const bool attaches = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST;
    if (pointer == nullptr || bytes == 0 || !attaches) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    auto* range = static_cast<ManagedRange*>(std::calloc(1, sizeof(ManagedRange)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult error = enter(*range, *context, bytes); error != CUDA_SUCCESS) {
        std::free(range->is_resident);
        std::free(range);
        return error;
    }
    *pointer = range->base;
    return CUDA_SUCCESS;
}
