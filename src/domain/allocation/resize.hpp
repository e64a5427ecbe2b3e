// Changing how much of its cards a pod holds while it runs: what was wished for, and whether it can
// be. The cards stay.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// What a driver gives out of a card at a time (guard/region/layout.hpp): no share is held smaller.
inline constexpr Bytes kSmallestShare = mebibytes(2);

// Amounts of each card of a container; what is left out stays as it is.
struct ResizeWish {
    struct Container {
        std::string name;
        std::optional<Bytes> memory;
        std::optional<Percent> cores;    // 0: sure of none
        std::optional<Percent> ceiling;  // 100: none

        friend bool operator==(const Container&, const Container&) = default;
    };
    std::vector<Container> containers;  // no name twice

    friend bool operator==(const ResizeWish&, const ResizeWish&) = default;
};

// Whether the pod has what is wished for already.
bool is_granted(const ResizeWish& wish, const Allocation& allocation);

// Whether `after` is what became of `before` by resizes: the same pod on the same cards, with a
// higher revision.
bool is_resize_of(const Allocation& before, const Allocation& after);

// The node as the pod finds it: what others hold is on its cards, what it holds itself is not.
struct ResizeRoom {
    std::span<const Gpu> gpus;
    std::span<const Card> cards;  // parallel
    MemoryUnit unit = MemoryUnit::gib;
};

// The allocation that grants the wish: `now` with other amounts, one revision on. What grows has to
// have room on its card beside the others; less is always given back. Errors are a refusal's words
// for the user: not_found (a container without a share), unsupported (a whole card),
// invalid_argument (amounts that can never be), unavailable (no room beside the others now, or the
// card is out of use).
Result<Allocation> resize(const Allocation& now, const ResizeWish& wish, const ResizeRoom& room);

}  // namespace tessera
