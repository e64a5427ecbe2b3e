// What this process holds of the cards: every allocation by its address, and what a driver takes
// for all of them. Flat from ten to a hundred thousand: a hash table, no list.
//
// Allocations of a granule or more take whole granules. The driver packs smaller ones of a process
// into shared granules; they are counted together, at the driver's grain of 512 bytes. What it
// wastes between them only the agent's comparison with NVML shows (docs/guard.md).
//
// Not thread-safe: the process's mutex guards it.
#pragma once

#include "api/nvidia/cuda.h"
#include "guard/region/layout.hpp"

namespace tessera::guard {

struct Holding {
    std::uint64_t address;  // 0: none. A context, or a CUdeviceptr: both are addresses
    CUcontext context;      // that it ends with
    std::uint64_t bytes;
    int card;
};

class Holdings {
  public:
    // How many more granules the driver takes for one more of so many bytes.
    [[nodiscard]] Granules cost_of(int card, std::uint64_t bytes) const;
    // How many fewer it takes without one of so many.
    [[nodiscard]] Granules worth_of(int card, std::uint64_t bytes) const;

    // Counted from now on, whether it has an address yet or not.
    void count(int card, std::uint64_t bytes);
    void discount(int card, std::uint64_t bytes);

    // False where there is no memory to note it.
    bool add(const Holding& holding);
    // What was noted at the address, taken out; with address 0 where nothing was.
    Holding take(std::uint64_t address);
    // Takes out the next that is of the context, from `place` on, which begins with 0; with address
    // 0 where there is none left.
    Holding take_next_of(CUcontext context, std::uint64_t& place);

  private:
    [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const;
    bool grow();
    void erase(std::uint64_t place);

    std::uint64_t small_bytes_[kMaxCards];
    Holding* table_;          // of capacity_, a power of two; empty places have address 0
    std::uint64_t capacity_;  // 0 before the first
    std::uint64_t used_;
};

}  // namespace tessera::guard
