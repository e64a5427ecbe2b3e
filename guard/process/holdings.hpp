// What this process holds of the GPUs by address or handle: every allocation, and what a driver
// takes for all of them.
//
// Allocations of 1 MiB or more take whole allocation units. The driver packs smaller ones of a
// process into shared allocation units. They are counted together, in the driver's granularity of
// 512 bytes. Only the agent's comparison with NVML shows what the driver wastes between them
// (docs/internals/guard.md).
//
// Not thread-safe: the process's mutex protects it.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/base/table.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

struct Holding {
    std::uint64_t address;  // 0: none. A CUdeviceptr, or the handle of a context, array or module
    CUcontext context;      // the context that it ends with
    std::uint64_t bytes;
    std::int16_t gpu;
    std::uint16_t shared;  // 1 + index of the region's entry that names the payer; 0: none
    std::uint32_t pool;    // its pool, which is charged in its place (pools.hpp); 0: none
};
static_assert(kMaxGpus <= INT16_MAX && kMaxSharedMemory < UINT16_MAX);
static_assert(sizeof(Holding) == 32, "two per cache line, or large tables are slow");

inline Holding holding_at(std::uint64_t address, CUcontext context, std::uint64_t bytes, int gpu,
                          std::uint32_t pool = 0) {
    return {address, context, bytes, static_cast<std::int16_t>(gpu), 0, pool};
}
inline std::uint64_t key_of(const Holding& holding) {
    return holding.address;
}

// The granularity in which drivers divide allocation units and the memory of pools.
inline constexpr std::uint64_t kGrainBytes = 512;

constexpr std::uint64_t in_grains(std::uint64_t bytes) {
    return (bytes + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
}

class Holdings {
  public:
    // Whether the driver packs an allocation of this size together with others.
    [[nodiscard]] static constexpr bool shares_units(std::uint64_t bytes) {
        return bytes < std::uint64_t{1} << 20;
    }
    // How many more allocation units the driver takes for one more allocation of this size.
    [[nodiscard]] AllocationUnits cost_of(int gpu, std::uint64_t bytes) const;
    // How many fewer it takes without one allocation of this size.
    [[nodiscard]] AllocationUnits worth_of(int gpu, std::uint64_t bytes) const;

    // Counted from now on, with or without an address.
    void count(int gpu, std::uint64_t bytes);
    void discount(int gpu, std::uint64_t bytes);

    // False if there is no memory for the record.
    bool add(const Holding& holding) { return table_.add(holding); }
    // Removes and returns the record of the address; with address 0 if there is none.
    Holding take(std::uint64_t address) { return table_.take(address); }
    // The record of the address; null if there is none. Valid until the next call.
    Holding* find(std::uint64_t address) { return table_.find(address); }
    // Removes the next holding of the context, from `place` on. Start with `place` 0. The result
    // has address 0 when none is left.
    Holding take_next_of(CUcontext context, std::uint64_t& place);
    // What would have ended with one context now ends with another.
    void pass_on(CUcontext from, CUcontext to);

  private:
    std::uint64_t small_bytes_[kMaxGpus];
    Table<Holding> table_;
};

}  // namespace tessera::guard
