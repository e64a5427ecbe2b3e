// What this process holds of the cards by address or handle: every allocation, and what a driver
// takes for all of them.
//
// Allocations of 1 MiB or more take whole granules. The driver packs smaller ones of a process into
// shared granules; they are counted together, at the driver's grain of 512 bytes. What it wastes
// between them only the agent's comparison with NVML shows (docs/guard.md).
//
// Not thread-safe: the process's mutex guards it.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/process/table.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

struct Holding {
    std::uint64_t address;  // 0: none. A CUdeviceptr, or the handle of a context, array or module
    CUcontext context;      // that it ends with
    std::uint64_t bytes;
    std::int16_t card;
    std::uint16_t shared;  // 1 + the region's entry that says who is charged for it; 0: none
    std::uint32_t pool;    // that it is from, and that counts in its place (pools.hpp); 0: none
};
static_assert(kMaxCards <= INT16_MAX && kMaxSharedMemory < UINT16_MAX);
static_assert(sizeof(Holding) == 32, "two to a line of the cache, or large tables are slow");

inline Holding holding_at(std::uint64_t address, CUcontext context, std::uint64_t bytes, int card,
                          std::uint32_t pool = 0) {
    return {address, context, bytes, static_cast<std::int16_t>(card), 0, pool};
}
inline std::uint64_t key_of(const Holding& holding) {
    return holding.address;
}

// That drivers divide granules and the memory of pools by.
inline constexpr std::uint64_t kGrainBytes = 512;

constexpr std::uint64_t in_grains(std::uint64_t bytes) {
    return (bytes + kGrainBytes - 1) / kGrainBytes * kGrainBytes;
}

class Holdings {
  public:
    // Whether the driver packs so many bytes together with others.
    [[nodiscard]] static constexpr bool shares_granules(std::uint64_t bytes) {
        return bytes < std::uint64_t{1} << 20;
    }
    // How many more granules the driver takes for one more of so many bytes.
    [[nodiscard]] Granules cost_of(int card, std::uint64_t bytes) const;
    // How many fewer it takes without one of so many.
    [[nodiscard]] Granules worth_of(int card, std::uint64_t bytes) const;

    // Counted from now on, whether it has an address yet or not.
    void count(int card, std::uint64_t bytes);
    void discount(int card, std::uint64_t bytes);

    // False where there is no memory to note it.
    bool add(const Holding& holding) { return table_.add(holding); }
    // What was noted at the address, taken out; with address 0 where nothing was.
    Holding take(std::uint64_t address) { return table_.take(address); }
    // What is noted there; null where nothing is. Good until the next call.
    Holding* find(std::uint64_t address) { return table_.find(address); }
    // Takes out the next that is of the context, from `place` on, which begins with 0; with address
    // 0 where there is none left.
    Holding take_next_of(CUcontext context, std::uint64_t& place);
    // What would have ended with one context ends with another.
    void pass_on(CUcontext from, CUcontext to);

  private:
    std::uint64_t small_bytes_[kMaxCards];
    Table<Holding> table_;
};

}  // namespace tessera::guard
