// The address book: all address ranges that a program may use through the driver, whatever is
// behind them. Every function requires a Session.
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
    array,       // behind a CUarray: a program does not get its address
    mapping,     // cuMemMap
    imported,    // cuIpcOpenMemHandle
    external     // cuExternalMemoryGetMappedBuffer
};

inline constexpr std::uint64_t kAllDevices = ~std::uint64_t{0};

// The family of calls that makes a range derives its own type from this.
struct Range {
    CUdeviceptr base;
    std::size_t bytes;   // as requested
    std::size_t extent;  // its size in the address space
    RangeKind kind;
    Context* context;        // the context that it ends with; null: it outlives contexts
    CUdevice device;         // the device of the memory, or of the context that allocated it
    std::uint64_t readable;  // one bit per device
    std::uint64_t writable;
    std::uint64_t id;               // never given twice in a process
    void (*release)(Range* range);  // releases what the range stands for, and the range
    Range* next;                    // in Context::ranges
    Range* previous;
};

// The host address of a device address: they are the same.
void* address(CUdeviceptr pointer);

// The range that `pointer` points into; null if there is none.
Range* find_range(CUdeviceptr pointer);

// The range of that kind that begins at `pointer`; null if there is none.
Range* find_range(CUdeviceptr pointer, RangeKind kind);

// False for host memory, also if devices can address it.
bool is_device_memory(CUdeviceptr pointer);

// The first range that shares an address with [pointer, pointer + bytes).
Range* find_overlap(CUdeviceptr pointer, std::size_t bytes);

// Adds a range whose base, bytes, extent, kind, device and release are set; all devices can read
// and write it. `context` may be null. False if there is no memory, or if another range is there.
bool add_range(Range& range, Context* context);
void remove_range(Range& range);

// Releases the ranges of the context.
void release_ranges(Context& context);

enum class Side { device, either };  // either: a host address is accepted
enum class Use { read, write };

// True if the context's device may use every byte. A span may cross from one mapping to the next,
// but no other border.
bool is_reachable(const Context& context, CUdeviceptr pointer, std::size_t bytes, Side side,
                  Use use);

}  // namespace gpusim
