#include "gpusim/cuda/virtual_memory/virtual_memory.hpp"

#include <search.h>
#include <sys/mman.h>

#include <cstdlib>

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::kAllocationUnitBytes;
using gpusim::Physical;
using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

constexpr std::size_t kPageBytes = 4096;

struct Reservation {
    CUdeviceptr base;
    std::size_t bytes;
};

struct MappingRange : Range {
    Physical* physical;
    bool host_may_read;
    bool host_may_write;
};

constinit void* reservations = nullptr;  // tsearch tree by address

// Any overlap counts as equal.
int compare(const void* left, const void* right) {
    const auto* a = static_cast<const Reservation*>(left);
    const auto* b = static_cast<const Reservation*>(right);
    if (a->base + a->bytes <= b->base) return -1;
    return b->base + b->bytes <= a->base ? 1 : 0;
}

Reservation* find_reservation(CUdeviceptr pointer, std::size_t bytes) {
    const Reservation key = {pointer, bytes};
    void* found = tfind(&key, &reservations, compare);
    return found != nullptr ? *static_cast<Reservation**>(found) : nullptr;
}

MappingRange* find_mapping(CUdeviceptr pointer) {
    Range* range = gpusim::find_range(pointer);
    const bool is_mapping = range != nullptr && range->kind == RangeKind::mapping;
    return is_mapping ? static_cast<MappingRange*>(range) : nullptr;
}

void* place(CUdeviceptr at, std::size_t bytes, int flags) {
    void* pages = mmap(gpusim::address(at), bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return pages != MAP_FAILED ? pages : nullptr;
}

// Reserves `bytes` at a multiple of `alignment`: maps more and unmaps the excess.
void* reserve_aligned(CUdeviceptr hint, std::size_t bytes, std::size_t alignment) {
    std::size_t room = 0;
    if (__builtin_add_overflow(bytes, alignment, &room)) return nullptr;
    void* pages = place(hint, room, 0);
    if (pages == nullptr) return nullptr;
    const auto start = reinterpret_cast<CUdeviceptr>(pages);
    const CUdeviceptr base = (start + alignment - 1) / alignment * alignment;
    if (base > start) munmap(pages, base - start);
    munmap(gpusim::address(base + bytes), start + room - base - bytes);
    return gpusim::address(base);
}

// Returns to a bare reservation.
void give_back(Range* range) {
    auto* mine = static_cast<MappingRange*>(range);
    gpusim::remove_range(*mine);
    place(mine->base, mine->extent, MAP_FIXED);
    gpusim::drop_mapping(*mine->physical);
    std::free(mine);
}

// True if mappings fill [pointer, pointer + bytes) from border to border.
bool is_whole_mappings(CUdeviceptr pointer, std::size_t bytes) {
    const CUdeviceptr end = pointer + bytes;
    if (bytes == 0 || end < pointer) return false;
    while (pointer < end) {
        const MappingRange* mapping = find_mapping(pointer);
        if (mapping == nullptr || mapping->base != pointer) return false;
        pointer += mapping->bytes;
    }
    return pointer == end;
}

// Peers are not modelled: a device accesses its own memory and the host's.
CUresult check(const MappingRange& mapping, const CUmemAccessDesc& wanted) {
    const CUmemLocation& where = wanted.location;
    const unsigned flags = wanted.flags;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool is_host_memory = mapping.physical->device < 0;
    if (where.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        if (!gpusim::is_device(where.id)) return CUDA_ERROR_INVALID_DEVICE;
        const bool is_peer = !is_host_memory && where.id != mapping.physical->device;
        return is_peer ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
    }
    const bool is_host = where.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return is_host && is_host_memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void apply(MappingRange& mapping, const CUmemAccessDesc& wanted) {
    const bool may_read = (wanted.flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0;
    const bool may_write = wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        mapping.host_may_read = may_read;
        mapping.host_may_write = may_write;
    } else {
        const std::uint64_t bit = std::uint64_t{1} << wanted.location.id;
        mapping.readable = may_read ? mapping.readable | bit : mapping.readable & ~bit;
        mapping.writable = may_write ? mapping.writable | bit : mapping.writable & ~bit;
    }
    const bool reads = mapping.readable != 0 || mapping.host_may_read;
    const bool writes = mapping.writable != 0 || mapping.host_may_write;
    mprotect(gpusim::address(mapping.base), mapping.extent,
             (reads ? PROT_READ : PROT_NONE) | (writes ? PROT_WRITE : PROT_NONE));
}

bool is_power_of_two(std::size_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

}  // namespace

namespace gpusim {

bool is_reserved(CUdeviceptr pointer) {
    return find_reservation(pointer, 1) != nullptr;
}

Physical* mapped_at(CUdeviceptr pointer) {
    const MappingRange* mapping = find_mapping(pointer);
    return mapping != nullptr ? mapping->physical : nullptr;
}

}  // namespace gpusim

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (pointer == nullptr || flags != 0 || bytes == 0 || bytes % kPageBytes != 0 ||
        hint % kPageBytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (alignment != 0 && !is_power_of_two(alignment)) return CUDA_ERROR_INVALID_VALUE;
    auto* reservation = static_cast<Reservation*>(std::calloc(1, sizeof(Reservation)));
    if (reservation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    void* pages = reserve_aligned(
        hint, bytes, alignment > kAllocationUnitBytes ? alignment : kAllocationUnitBytes);
    if (pages == nullptr) {
        std::free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *reservation = {reinterpret_cast<CUdeviceptr>(pages), bytes};
    if (tsearch(reservation, &reservations, compare) == nullptr) {
        munmap(pages, bytes);
        std::free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pointer = reservation->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Reservation* reservation = find_reservation(pointer, 1);
    if (reservation == nullptr || reservation->base != pointer || reservation->bytes != bytes ||
        gpusim::find_overlap(pointer, bytes) != nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    tdelete(reservation, &reservations, compare);
    munmap(gpusim::address(pointer), bytes);
    std::free(reservation);
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Physical* physical = gpusim::find_physical(handle);
    if (physical == nullptr || flags != 0 || offset != 0 || bytes == 0 || bytes > physical->bytes ||
        (pointer | bytes) % kAllocationUnitBytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Reservation* reservation = find_reservation(pointer, 1);
    if (reservation == nullptr || bytes > reservation->base + reservation->bytes - pointer) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto* range = static_cast<MappingRange*>(std::calloc(1, sizeof(MappingRange)));
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    range->base = pointer;
    range->bytes = bytes;
    range->extent = bytes;
    range->kind = RangeKind::mapping;
    range->device = physical->device;
    range->release = give_back;
    range->physical = physical;
    if (!gpusim::add_range(*range, nullptr)) {
        std::free(range);
        return CUDA_ERROR_INVALID_VALUE;  // something is mapped there
    }
    range->readable = 0;
    range->writable = 0;
    gpusim::add_mapping(*physical);
    void* pages = mmap(gpusim::address(pointer), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                       gpusim::content_of(*physical), static_cast<off_t>(physical->offset));
    if (pages != MAP_FAILED) return CUDA_SUCCESS;
    give_back(range);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// As the real driver mostly does, this waits for the work that may use the addresses.
CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!is_whole_mappings(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
    gpusim::wait_for_all();
    if (!is_whole_mappings(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = pointer; at < pointer + bytes;) {
        MappingRange* mapping = find_mapping(at);
        at += mapping->bytes;
        give_back(mapping);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* accesses,
                        size_t count) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (accesses == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!is_whole_mappings(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
    const CUdeviceptr end = pointer + bytes;
    for (CUdeviceptr at = pointer; at < end; at += find_mapping(at)->bytes) {
        for (std::size_t i = 0; i < count; i++) {
            const CUresult error = check(*find_mapping(at), accesses[i]);
            if (error != CUDA_SUCCESS) return error;
        }
    }
    for (CUdeviceptr at = pointer; at < end; at += find_mapping(at)->bytes) {
        for (std::size_t i = 0; i < count; i++)
            apply(*find_mapping(at), accesses[i]);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const MappingRange* mapping = find_mapping(pointer);
    if (flags == nullptr || location == nullptr || mapping == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool may_read = mapping->host_may_read;
    bool may_write = mapping->host_may_write;
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE) {
        if (!gpusim::is_device(location->id)) return CUDA_ERROR_INVALID_DEVICE;
        may_read = (mapping->readable >> location->id & 1) != 0;
        may_write = (mapping->writable >> location->id & 1) != 0;
    } else if (location->type != CU_MEM_LOCATION_TYPE_HOST_NUMA) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = may_write  ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : may_read ? CU_MEM_ACCESS_FLAGS_PROT_READ
                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
