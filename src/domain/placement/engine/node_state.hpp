// The part of a node's load on which a score may depend, as a key: nodes with equal keys have equal
// scores. Also the hash table for values that are cached by such keys.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// Model, free CPU, kinds of tasks, and the free amounts of the GPUs without their order. Memory is
// not included: it decides whether a task fits, but not the score.
struct NodeState {
    std::array<std::uint64_t, 6> words{};

    // Compares all words at once: keys that are compared are usually equal, and a call would cost
    // more.
    friend bool operator==(const NodeState& a, const NodeState& b) {
        std::uint64_t differs = 0;
        for (std::size_t i = 0; i < a.words.size(); ++i)
            differs |= a.words[i] ^ b.words[i];
        return differs == 0;
    }
};

inline NodeState state_of(const NodeLoad& load, bool with_kinds) {
    std::array<std::int16_t, kMaxGpus> sorted{};
    for (std::size_t filled = 0; filled < static_cast<std::size_t>(load.gpus); ++filled) {
        std::size_t at = filled;
        for (; at > 0 && sorted[at - 1] < load.milli[filled]; --at)
            sorted[at] = sorted[at - 1];
        sorted[at] = load.milli[filled];
    }
    NodeState state;
    std::memcpy(state.words.data(), sorted.data(), sizeof(sorted));
    state.words[4] = (std::uint64_t{static_cast<std::uint32_t>(load.cpu_milli)} << 32) |
                     (static_cast<std::uint64_t>(load.model) << 8) |
                     static_cast<std::uint64_t>(load.gpus);
    state.words[5] = with_kinds ? load.kinds : 0;
    return state;
}

inline std::uint32_t hash_of(const NodeState& state) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : state.words)
        hash = std::rotl((hash ^ word) * 0x9E3779B97F4A7C15U, 29);
    return static_cast<std::uint32_t>(hash * 0xD6E8FEB86659FD93U >> 32);
}

// Values that are cached per state. Open addressing over small slots, with the entries in a
// separate array: a look-up then reads little memory that is not in a cache, which is most of its
// cost. It never holds more than kMost entries: the caller checks full() before it adds one, and
// calls clear().
template <class Value>
class StateMemo {
  public:
    static constexpr std::size_t kMost = std::size_t{1} << 18;

    StateMemo() : slots_(kFirstSlots) {}

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] bool full() const { return size() >= kMost; }

    void clear() {
        slots_.assign(kFirstSlots, Slot{});
        entries_.clear();
    }

    // Null if there is none. Valid until the next call of at().
    [[nodiscard]] const Value* find(const NodeState& state) const {
        const std::uint32_t number = slots_[place_of(state, hash_of(state))].number;
        return number == 0 ? nullptr : &entries_[number - 1].value;
    }

    // The entry of the state, created with the value `fresh` if there is none. Valid until the next
    // call.
    Value& at(const NodeState& state, const Value& fresh) {
        if (2 * size() >= slots_.size()) grow();
        const std::uint32_t hash = hash_of(state);
        Slot& slot = slots_[place_of(state, hash)];
        if (slot.number == 0) {
            entries_.push_back({state, fresh});
            slot = {hash, static_cast<std::uint32_t>(size())};
        }
        return entries_[slot.number - 1].value;
    }

  private:
    static constexpr std::size_t kFirstSlots = 1024;

    struct Entry {
        NodeState state;
        Value value;
    };
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t number = 0;  // position of the entry plus 1; 0: none
    };

    // The index of the slot that the state has, or would get.
    [[nodiscard]] std::size_t place_of(const NodeState& state, std::uint32_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at].number != 0 &&
               (slots_[at].hash != hash || !(entries_[slots_[at].number - 1].state == state)))
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.number == 0) continue;
            std::size_t at = slot.hash & mask;
            while (slots_[at].number != 0)
                at = (at + 1) & mask;
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;  // the size is a power of two
    std::vector<Entry> entries_;
};

}  // namespace tessera
