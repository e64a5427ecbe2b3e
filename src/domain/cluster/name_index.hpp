// Node name → position, made once per set of nodes and then read by every request: a flat table
// with the whole hash beside the position, so that a lookup touches two cache lines
// (extender_bench).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class NameIndex {
  public:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

    // Positions are those of `names`, which are distinct.
    explicit NameIndex(std::vector<std::string> names) : names_(std::move(names)) {
        std::size_t size = 16;
        while (size < names_.size() * 2)
            size *= 2;
        slots_.resize(size);
        for (std::uint32_t i = 0; i < names_.size(); ++i) {
            const std::uint64_t hash = hash_of(names_[i]);
            std::size_t at = hash & (size - 1);
            while (slots_[at].position != kNone)
                at = (at + 1) & (size - 1);
            slots_[at] = {hash, i};
        }
    }

    // kNone when the name is unknown.
    [[nodiscard]] std::uint32_t find(std::string_view name) const {
        const std::uint64_t hash = hash_of(name);
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = hash & mask; slots_[at].position != kNone; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.hash == hash && names_[slot.position] == name) return slot.position;
        }
        return kNone;
    }

  private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t position = kNone;
    };

    static std::uint64_t hash_of(std::string_view name) {
        return std::hash<std::string_view>{}(name);
    }

    std::vector<std::string> names_;
    std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace tessera
