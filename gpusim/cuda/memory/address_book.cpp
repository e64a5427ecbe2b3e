#include "gpusim/cuda/memory/address_book.hpp"

#include <search.h>

#include "gpusim/cuda/virtual_memory/virtual_memory.hpp"

namespace gpusim {
namespace {

constinit void* book = nullptr;  // tsearch tree of Range by address
constinit std::uint64_t last_id = 0;

// Any overlap counts as equal, so that a lookup may name an inner byte.
int compare(const void* left, const void* right) {
    const auto* a = static_cast<const Range*>(left);
    const auto* b = static_cast<const Range*>(right);
    if (a->base + a->extent <= b->base) return -1;
    return b->base + b->extent <= a->base ? 1 : 0;
}

void link_to_context(Range& range) {
    Context& context = *range.context;
    range.next = context.ranges;
    range.previous = nullptr;
    if (context.ranges != nullptr) context.ranges->previous = &range;
    context.ranges = &range;
}

void unlink_from_context(Range& range) {
    if (range.next != nullptr) range.next->previous = range.previous;
    if (range.previous != nullptr) {
        range.previous->next = range.next;
    } else {
        range.context->ranges = range.next;
    }
}

}  // namespace

// A CUdeviceptr is an integer by the ABI, whatever that costs the optimizer.
void* address(CUdeviceptr pointer) {
    return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

Range* find_overlap(CUdeviceptr pointer, std::size_t bytes) {
    Range key = {};
    key.base = pointer;
    key.extent = bytes;
    void* found = tfind(&key, &book, compare);
    return found != nullptr ? *static_cast<Range**>(found) : nullptr;
}

Range* find_range(CUdeviceptr pointer) {
    Range* range = find_overlap(pointer, 1);
    return range != nullptr && range->kind != RangeKind::array ? range : nullptr;
}

Range* find_range(CUdeviceptr pointer, RangeKind kind) {
    Range* range = find_overlap(pointer, 1);
    const bool is_it = range != nullptr && range->base == pointer && range->kind == kind;
    return is_it ? range : nullptr;
}

bool is_device_memory(CUdeviceptr pointer) {
    const Range* range = find_range(pointer);
    const bool is_of_host_pool =
        range != nullptr && range->kind == RangeKind::pooled && range->device < 0;
    return range != nullptr && range->kind != RangeKind::host &&
           range->kind != RangeKind::registered && !is_of_host_pool;
}

bool add_range(Range& range, Context* context) {
    void* entered = tsearch(&range, &book, compare);
    if (entered == nullptr || *static_cast<Range**>(entered) != &range) return false;
    if (context != nullptr) context = &home_of(*context);
    range.context = context;
    range.readable = kAllDevices;
    range.writable = kAllDevices;
    range.id = ++last_id;
    if (context != nullptr) link_to_context(range);
    return true;
}

void remove_range(Range& range) {
    tdelete(&range, &book, compare);
    if (range.context != nullptr) unlink_from_context(range);
}

void release_ranges(Context& context) {
    while (context.ranges != nullptr)
        context.ranges->release(context.ranges);
}

bool is_reachable(const Context& context, CUdeviceptr pointer, std::size_t bytes, Side side,
                  Use use) {
    const Range* range = find_range(pointer);
    if (range == nullptr) return side == Side::either && !is_reserved(pointer);
    while (range != nullptr) {
        const std::uint64_t usable = use == Use::read ? range->readable : range->writable;
        if ((usable >> context.device & 1) == 0) return false;
        const std::size_t offset = pointer - range->base;
        if (offset <= range->bytes && bytes <= range->bytes - offset) return true;
        if (range->kind != RangeKind::mapping) return false;
        bytes -= range->bytes - offset;
        pointer = range->base + range->bytes;
        range = find_range(pointer);
        if (range != nullptr && range->kind != RangeKind::mapping) return false;
    }
    return false;
}

}  // namespace gpusim
