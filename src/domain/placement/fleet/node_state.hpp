// What of a node a score may depend on, as a key: two nodes with equal keys have equal scores. And
// the hash table for what is remembered by such keys.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// Model, free CPU, kinds of tasks, and what is free on the cards, in no order of theirs. Memory is
// not in it: it decides whether a task fits, never how well.
struct NodeState {
    std::array<std::uint64_t, 6> words{};

    friend bool operator==(const NodeState&, const NodeState&) = default;
};

inline NodeState state_of(const NodeLoad& load, bool with_kinds) {
    std::array<std::int16_t, kMaxCards> sorted{};
    for (std::size_t filled = 0; filled < static_cast<std::size_t>(load.cards); ++filled) {
        std::size_t at = filled;
        for (; at > 0 && sorted[at - 1] < load.milli[filled]; --at)
            sorted[at] = sorted[at - 1];
        sorted[at] = load.milli[filled];
    }
    NodeState state;
    std::memcpy(state.words.data(), sorted.data(), sizeof(sorted));
    state.words[4] = (std::uint64_t{static_cast<std::uint32_t>(load.cpu_milli)} << 32) |
                     (static_cast<std::uint64_t>(load.model) << 8) |
                     static_cast<std::uint64_t>(load.cards);
    state.words[5] = with_kinds ? load.kinds : 0;
    return state;
}

inline std::size_t hash_of(const NodeState& state) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : state.words)
        hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15U, 29);
    return static_cast<std::size_t>(hash * 0xD6E8FEB86659FD93U >> 20);
}

// What was worked out per state. Open addressing, because the general map's one allocation per
// entry would be most of what a decision costs. It never holds more than kMost entries: whoever
// fills it asks full() first and calls clear().
template <class Value>
class StateMemo {
  public:
    static constexpr std::size_t kMost = std::size_t{1} << 18;

    StateMemo() : slots_(1024) {}

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool full() const { return size_ >= kMost; }

    void clear() {
        slots_.assign(1024, Slot{});
        size_ = 0;
    }

    // The entry of the state; made with `fresh` when there is none. Valid until the next call.
    Value& at(const NodeState& state, const Value& fresh) {
        if (2 * size_ >= slots_.size()) grow();
        Slot& slot = slots_[find(state)];
        if (!slot.used) {
            slot = {state, fresh, true};
            ++size_;
        }
        return slot.value;
    }

  private:
    struct Slot {
        NodeState state;
        Value value{};
        bool used = false;
    };

    [[nodiscard]] std::size_t find(const NodeState& state) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash_of(state) & mask;
        while (slots_[at].used && slots_[at].state != state)
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.used) slots_[find(slot.state)] = slot;
        }
    }

    std::vector<Slot> slots_;  // a power of two
    std::size_t size_ = 0;
};

}  // namespace tessera
