// How a hook takes memory that has an address or a handle, and how it gives it back.
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

// Sets `bytes` aside, has the driver take memory by `take`, and notes what it gave by `taken`,
// which may be more or less. `undo` frees it again.
template <typename Take, typename What, typename Undo>
CUresult take_held(const Current& owner, std::uint64_t bytes, const Take& take, const What& taken,
                   const Undo& undo) {
    if (const CUresult over = set_aside(owner.card, bytes); over != CUDA_SUCCESS) return over;
    CUresult result = take();
    if (result == CUDA_SUCCESS) {
        const Taken given = taken();
        result = correct(owner.card, bytes, given.bytes);
        if (result == CUDA_SUCCESS) {
            if (note(holding_at(given.address, owner.context, given.bytes, owner.card)))
                return result;
            bytes = given.bytes;
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
        undo();
    }
    put_back(owner.card, bytes);
    return result;
}

// Frees by `give` what was noted.
template <typename Give>
CUresult give_held(std::uint64_t address, const Give& give) {
    const Holding held = take_note(address);
    const CUresult result = give();
    if (held.address == 0) return result;
    if (result != CUDA_SUCCESS) {
        note(held);  // there is room: it has just been taken out
    } else if (held.pool == 0) {
        put_back(held);
    } else {
        note_freed(held, nullptr, true);
    }
    return result;
}

}  // namespace tessera::guard
