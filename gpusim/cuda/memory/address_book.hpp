// The book of address ranges: all that a program may address through the driver, whatever is
// behind it. Every function wants a Session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

enum class RangeKind {
    device,      // cuMemAlloc, cuMemAllocPitch, variables of modules
    pooled,      // cuMemAllocAsync
    graph,       // a graph's node that allocates
    managed,     // cuMemAllocManaged
    host,        // cuMemHostAlloc, cuMemAllocHost
    registered,  // cuMemHostRegister
    array,       // behind a CUarray: an address that no program gets
    mapping,     // cuMemMap
    imported,    // cuIpcOpenMemHandle
    external     // cuExternalMemoryGetMappedBuffer
};

inline constexpr std::uint64_t kAllDevices = ~std::uint64_t{0};

// The family that makes a range derives from it what it needs to know.
struct Range {
    CUdeviceptr base;
    std::size_t bytes;   // as asked for
    std::size_t extent;  // what it fills of the address space
    RangeKind kind;
    Context* context;        // whose ranges it is among; null: it outlives contexts
    CUdevice device;         // that has the memory, or whose context asked for it
    std::uint64_t readable;  // one bit per device
    std::uint64_t writable;
    std::uint64_t id;               // never given twice in a process
    void (*release)(Range* range);  // gives back what it stands for, and itself
    Range* next;                    // in Context::ranges
    Range* previous;
};

// The host address of a device address: they are one.
void* address(CUdeviceptr pointer);

// The range that `pointer` points into, null when there is none.
Range* find_range(CUdeviceptr pointer);

// What begins at `pointer` and is of that kind, null when that is nothing.
Range* find_range(CUdeviceptr pointer, RangeKind kind);

// False for the host's memory, whoever may address it.
bool is_device_memory(CUdeviceptr pointer);

// The first range that shares an address with [pointer, pointer + bytes).
Range* find_overlap(CUdeviceptr pointer, std::size_t bytes);

// Enters a range whose base, bytes, extent, kind, device and release are set, readable and writable
// by all. `context` may be null. False without memory, or where another range is.
bool add_range(Range& range, Context* context);
void remove_range(Range& range);

// Releases what is the context's.
void release_ranges(Context& context);

enum class Side { device, either };  // either: a host address will do
enum class Use { read, write };

// True when the context's device may use every byte. A span may cross neighbouring mappings, but
// no other border.
bool is_reachable(const Context& context, CUdeviceptr pointer, std::size_t bytes, Side side,
                  Use use);

}  // namespace gpusim
