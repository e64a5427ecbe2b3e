// Node name → position. Built once per set of nodes, then read by every request. The data lies
// close together in flat arrays. All names of a request are looked up at once, so that waits for
// memory overlap (extender_bench).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

class NameIndex {
  public:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

    // The positions are those of `names`, which must be distinct.
    explicit NameIndex(std::span<const std::string> names) {
        std::size_t size = 16;
        while (size < names.size() * 2)
            size *= 2;
        slots_.resize(size);
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            begins_.push_back(static_cast<std::uint32_t>(text_.size()));
            text_ += names[i];
            const std::uint64_t hash = hash_of(names[i]);
            std::size_t at = slot_of(hash);
            while (slots_[at].position != kNone)
                at = next(at);
            slots_[at] = {tag_of(hash), i};
        }
        begins_.push_back(static_cast<std::uint32_t>(text_.size()));
    }

    [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
    // kNone if the name is unknown.
    [[nodiscard]] std::uint32_t find(std::string_view name) const {
        const std::uint64_t hash = hash_of(name);
        for (std::size_t at = slot_of(hash); slots_[at].position != kNone; at = next(at)) {
            const Slot& slot = slots_[at];
            if (slot.tag == tag_of(hash) && same(name_at(slot.position), name))
                return slot.position;
        }
        return kNone;
    }

    // As find(), for each name, in two passes: first the slots, then the names that the slots point
    // to.
    [[nodiscard]] std::vector<std::uint32_t> find_all(
        std::span<const std::string_view> names) const {
        std::vector<std::uint64_t> hashes(names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            hashes[i] = hash_of(names[i]);
            __builtin_prefetch(&slots_[slot_of(hashes[i])]);
        }
        std::vector<std::uint32_t> positions(names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            const Slot& slot = slots_[slot_of(hashes[i])];
            positions[i] = slot.position;
            if (slot.position != kNone) __builtin_prefetch(name_at(slot.position).data());
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (positions[i] != kNone && !same(name_at(positions[i]), names[i])) {
                positions[i] = find(names[i]);
            }
        }
        return positions;
    }

  private:
    struct Slot {
        std::uint32_t tag = 0;  // the bits of the hash that did not choose the slot
        std::uint32_t position = kNone;
    };

    static constexpr std::size_t kWord = sizeof(std::uint64_t);

    static std::uint64_t word_at(const char* text) {
        std::uint64_t word = 0;
        std::memcpy(&word, text, kWord);
        return word;
    }

    // Multiply and fold, eight bytes at a time; the last eight bytes may overlap earlier ones.
    static std::uint64_t hash_of(std::string_view name) {
        constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
        std::uint64_t hash = name.size() * kOdd;
        const auto mix = [&hash](std::uint64_t word) {
            hash = (hash ^ word) * kOdd;
            hash ^= hash >> 32;
        };
        if (name.size() < kWord) {
            for (const char c : name)
                mix(static_cast<unsigned char>(c));
        } else {
            const char* const last = name.data() + name.size() - kWord;
            for (const char* at = name.data(); at < last; at += kWord)
                mix(word_at(at));
            mix(word_at(last));
        }
        return hash * kOdd >> 7;
    }

    static bool same(std::string_view a, std::string_view b) {
        if (a.size() != b.size() || a.size() < kWord) return a == b;
        const std::size_t last = a.size() - kWord;
        for (std::size_t i = 0; i < last; i += kWord) {
            if (word_at(a.data() + i) != word_at(b.data() + i)) return false;
        }
        return word_at(a.data() + last) == word_at(b.data() + last);
    }

    static std::uint32_t tag_of(std::uint64_t hash) {
        return static_cast<std::uint32_t>(hash >> 32);
    }

    [[nodiscard]] std::size_t slot_of(std::uint64_t hash) const {
        return hash & (slots_.size() - 1);
    }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

    [[nodiscard]] std::string_view name_at(std::uint32_t position) const {
        const std::uint32_t begin = begins_[position];
        return std::string_view(text_).substr(begin, begins_[position + 1] - begin);
    }

    std::string text_;                   // all names, without separators
    std::vector<std::uint32_t> begins_;  // offsets in text_, and its end
    std::vector<Slot> slots_;            // the size is a power of two; at most half full
};

}  // namespace tessera
