// cuIpc*Mem*: cuMemAlloc's memory in other processes. The memory counts once on the GPU. It stays
// while any of them has it open, as in the real driver (the documentation does not say what a
// cuMemFree in the exporting process does).
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/memory/device_memory.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::DeviceRange;
using gpusim::driver;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

constexpr char kHandleMagic[8] = {'g', 'p', 'u', 's', 'i', 'm', 'i', 'p'};

// The content of a CUipcMemHandle.
struct Ticket {
    char magic[8];
    std::uint64_t serial;
    std::uint64_t offset;  // of the allocation in the entry: small allocations share it
    std::uint64_t bytes;
    std::int32_t entry;
};

static_assert(sizeof(Ticket) <= sizeof(CUipcMemHandle));

// An allocation that is open in a context.
struct ImportedRange : Range {
    Ticket ticket;
    std::size_t entry_bytes;
    unsigned opened;
};

bool is_same(const Ticket& a, const Ticket& b) {
    return a.entry == b.entry && a.serial == b.serial && a.offset == b.offset;
}

ImportedRange* find_open(const Context& context, const Ticket& ticket) {
    for (Range* range = context.ranges; range != nullptr; range = range->next) {
        if (range->kind != RangeKind::imported) continue;
        auto* imported = static_cast<ImportedRange*>(range);
        if (is_same(imported->ticket, ticket)) return imported;
    }
    return nullptr;
}

void give_back(Range* range) {
    auto* mine = static_cast<ImportedRange*>(range);
    gpusim::remove_range(*mine);
    munmap(gpusim::address(mine->base - mine->ticket.offset), mine->entry_bytes);
    gpusim::drop_shared(mine->ticket.entry);
    std::free(mine);
}

// The caller holds the entry; the range holds it from now on.
CUresult enter(Context& context, const Ticket& ticket, ImportedRange** entered) {
    const gpusim::SharedMemory& shared = driver.state.file->shared[ticket.entry];
    auto* range = static_cast<ImportedRange*>(std::calloc(1, sizeof(ImportedRange)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    range->ticket = ticket;
    range->entry_bytes = shared.bytes.load();
    if (ticket.offset > range->entry_bytes || ticket.bytes > range->entry_bytes - ticket.offset) {
        std::free(range);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    void* pages = gpusim::map_shared(ticket.entry, range->entry_bytes, nullptr);
    if (pages == nullptr) {
        std::free(range);
        return CUDA_ERROR_MAP_FAILED;
    }
    range->base = reinterpret_cast<CUdeviceptr>(pages) + ticket.offset;
    range->bytes = ticket.bytes;
    range->extent = ticket.bytes;
    range->kind = RangeKind::imported;
    range->device = gpusim::device_of(static_cast<int>(shared.gpu.load()));
    range->release = give_back;
    if (!gpusim::add_range(*range, &context)) {
        munmap(pages, range->entry_bytes);
        std::free(range);
        return CUDA_ERROR_MAP_FAILED;
    }
    *entered = range;
    return CUDA_SUCCESS;
}

bool read_ticket(const CUipcMemHandle& handle, Ticket* ticket) {
    std::memcpy(ticket, handle.reserved, sizeof *ticket);
    return std::memcmp(ticket->magic, kHandleMagic, sizeof kHandleMagic) == 0 &&
           ticket->entry >= 0 && ticket->entry < gpusim::kMaxShared;
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    Range* range = gpusim::find_range(pointer, RangeKind::device);
    if (handle == nullptr || range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    gpusim::Block& block = *static_cast<DeviceRange*>(range)->piece.block;
    if (!gpusim::share_block(block)) return CUDA_ERROR_OUT_OF_MEMORY;
    Ticket ticket = {};
    std::memcpy(ticket.magic, kHandleMagic, sizeof kHandleMagic);
    ticket.serial = driver.state.file->shared[block.entry].serial.load();
    ticket.offset = range->base - block.base;
    ticket.bytes = range->bytes;
    ticket.entry = block.entry;
    *handle = {};
    std::memcpy(handle->reserved, &ticket, sizeof ticket);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Ticket ticket = {};
    if (!read_ticket(handle, &ticket)) return CUDA_ERROR_INVALID_HANDLE;
    ImportedRange* range = find_open(*context, ticket);
    if (range == nullptr) {
        if (gpusim::is_own(ticket.entry)) return CUDA_ERROR_INVALID_CONTEXT;
        // Peers are not modelled: memory of another GPU cannot be mapped.
        const std::uint32_t gpu = driver.state.file->shared[ticket.entry].gpu.load();
        if (gpu != static_cast<std::uint32_t>(context->gpu)) return CUDA_ERROR_MAP_FAILED;
        if (!gpusim::hold_shared(ticket.entry, ticket.serial)) return CUDA_ERROR_INVALID_HANDLE;
        const CUresult error = enter(*context, ticket, &range);
        if (error != CUDA_SUCCESS) {
            gpusim::drop_shared(ticket.entry);
            return error;
        }
    }
    range->opened++;
    *pointer = range->base;
    return CUDA_SUCCESS;
}

// The first version did not enable peer access by itself.
CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
    return cuIpcOpenMemHandle_v2(pointer, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    gpusim::wait_for(*context);
    Range* range = gpusim::find_range(pointer, RangeKind::imported);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto* imported = static_cast<ImportedRange*>(range);
    if (--imported->opened == 0) give_back(imported);
    return CUDA_SUCCESS;
}
