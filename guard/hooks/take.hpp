// How a hook takes memory that has an address or a handle, and how it releases it.
#pragma once

#include "guard/hooks/enter.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/pools.hpp"

namespace tessera::guard {

// What the driver gave.
struct Taken {
    std::uint64_t address;  // or handle
    std::uint64_t bytes;
};

// Reserves `bytes`, makes the driver take memory with `take`, and records what `taken` returns,
// which may be more or less. `undo` frees the memory again.
template <typename Take, typename What, typename Undo>
CUresult take_counted(const Current& owner, std::uint64_t bytes, const Take& take,
                      const What& taken, const Undo& undo) {
    if (const CUresult over = reserve(owner.gpu, bytes); over != CUDA_SUCCESS) return over;
    CUresult result = take();
    if (result == CUDA_SUCCESS) {
        const Taken given = taken();
        result = correct(owner.gpu, bytes, given.bytes);
        if (result == CUDA_SUCCESS) {
            if (record(holding_at(given.address, owner.context, given.bytes, owner.gpu)))
                return result;
            bytes = given.bytes;
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        undo();
    }
    release(owner.gpu, bytes);
    return result;
}

// Frees recorded memory with `give`.
template <typename Give>
CUresult give_counted(std::uint64_t address, const Give& give) {
    const Holding held = take_record(address);
    const CUresult result = give();
    if (held.address == 0) return result;
    if (result != CUDA_SUCCESS) {
        record(held);  // there is room: it has just been removed
    } else if (held.pool == 0) {
        release(held);
    } else {
        note_freed(held, nullptr, true);
    }
    return result;
}

}  // namespace tessera::guard
