// What a context takes of a card by itself: only the driver knows, and says it to nobody. So the
// card's used memory is read before and after one is made, from NVML, which needs no context; and
// what the container itself was given meanwhile is left out.
//
// The card has less also where a neighbour took memory at that moment. So the first of a container
// that takes more than 32 MiB is made twice, and where a later one differs by more than that from
// the last, the smaller counts.
#pragma once

#include <cstdint>

#include "guard/process/process.hpp"

namespace tessera::guard {

// Whether this would be the first, and is large.
bool is_worth_a_second_look(int card, std::uint64_t bytes);
// What counts.
std::uint64_t note_context_cost(int card, std::uint64_t bytes);

class ContextCost {
  public:
    // Begins, where there is an NVML that knows the card.
    explicit ContextCost(int card);
    ~ContextCost();
    ContextCost(const ContextCost&) = delete;
    ContextCost& operator=(const ContextCost&) = delete;

    // What the context that was made since takes: `expected` where nothing could be measured.
    [[nodiscard]] std::uint64_t taken(std::uint64_t expected) const;

  private:
    // What the card has given to whom the container does not account for. False where NVML does
    // not say.
    bool read(std::int64_t& bytes) const;

    int card_;
    bool has_begun_ = false;
    bool is_measured_ = false;
    void* device_ = nullptr;
    std::int64_t before_ = 0;
};

// Has the driver make a context by `make`, or say why not; `undo` ends it again.
template <typename Make, typename Undo>
CUresult make_measured(int card, const Make& make, const Undo& undo, std::uint64_t& bytes) {
    const std::uint64_t expected = bytes;
    for (bool is_again = false;; is_again = true) {
        const ContextCost cost(card);
        const CUresult result = make();
        if (result != CUDA_SUCCESS) return result;
        const std::uint64_t taken = cost.taken(expected);
        if (!is_again || taken < bytes) bytes = taken;
        if (is_again || !is_worth_a_second_look(card, taken)) break;
        undo();
    }
    bytes = note_context_cost(card, bytes);
    return CUDA_SUCCESS;
}

}  // namespace tessera::guard
