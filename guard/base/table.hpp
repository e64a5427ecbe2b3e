// A hash table of entries by a key that is not 0, which key_of(entry) returns. An empty table is
// all zero. The time per call is flat from ten to a hundred thousand entries.
//
// Not thread-safe. The result of find() is valid until the next add() or take().
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace tessera::guard {

template <typename Entry>
class Table {
  public:
    [[nodiscard]] bool is_empty() const { return used_ == 0; }

    Entry* find(std::uint64_t key) {
        if (capacity_ == 0 || key == 0) return nullptr;
        Entry& found = entries_[place_of(key)];
        return key_of(found) != 0 ? &found : nullptr;
    }

    // Replaces the entry with the same key. False if there is no memory for it.
    bool add(const Entry& entry) {
        if (2 * (used_ + 1) > capacity_ && !grow()) return false;
        Entry& place = entries_[place_of(key_of(entry))];
        if (key_of(place) == 0) used_++;
        place = entry;
        return true;
    }

    // Removes and returns the entry; all zero if there is none.
    Entry take(std::uint64_t key) {
        if (capacity_ == 0 || key == 0) return {};
        const std::uint64_t place = place_of(key);
        const Entry found = entries_[place];
        if (key_of(found) != 0) erase(place);
        return found;
    }

    // Removes and returns the next entry that is `wanted`, from `place` on. Start with `place` 0.
    // All zero when none is left. erase() moves entries only to this place or a later one, or
    // entries already visited.
    template <typename Wanted>
    Entry take_next(std::uint64_t& place, const Wanted& wanted) {
        for (; place < capacity_; place++) {
            const Entry found = entries_[place];
            if (key_of(found) == 0 || !wanted(found)) continue;
            erase(place);
            return found;
        }
        return {};
    }

    template <typename Visit>
    void for_each(const Visit& visit) {
        for (std::uint64_t place = 0; place < capacity_; place++)
            if (key_of(entries_[place]) != 0) visit(entries_[place]);
    }

  private:
    static constexpr std::uint64_t kFirstCapacity = 1024;

    // Addresses differ in their middle bits. Source of the constant: Knuth's multiplicative hash,
    // 2^64 divided by the golden ratio.
    static constexpr std::uint64_t hash_of(std::uint64_t key) {
        return (key * 0x9e3779b97f4a7c15U) >> 20U;
    }

    // The place of the key, or the empty place where it would be.
    [[nodiscard]] std::uint64_t place_of(std::uint64_t key) const {
        std::uint64_t place = hash_of(key) & (capacity_ - 1);
        while (key_of(entries_[place]) != 0 && key_of(entries_[place]) != key)
            place = (place + 1) & (capacity_ - 1);
        return place;
    }

    // Doubles the capacity, so that at most half of it is used.
    bool grow() {
        const Table old = *this;
        const std::uint64_t capacity = old.capacity_ == 0 ? kFirstCapacity : 2 * old.capacity_;
        void* pages = mmap(nullptr, capacity * sizeof(Entry), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) return false;
        entries_ = static_cast<Entry*>(pages);
        capacity_ = capacity;
        for (std::uint64_t place = 0; place < old.capacity_; place++) {
            const Entry& entry = old.entries_[place];
            if (key_of(entry) != 0) entries_[place_of(key_of(entry))] = entry;
        }
        if (old.capacity_ != 0) munmap(old.entries_, old.capacity_ * sizeof(Entry));
        return true;
    }

    // Moves entries up that were displaced by this one, so no place is ever marked as deleted.
    void erase(std::uint64_t place) {
        std::uint64_t hole = place;
        for (std::uint64_t next = (hole + 1) & (capacity_ - 1); key_of(entries_[next]) != 0;
             next = (next + 1) & (capacity_ - 1)) {
            const std::uint64_t home = hash_of(key_of(entries_[next])) & (capacity_ - 1);
            const std::uint64_t from_home = (next - home) & (capacity_ - 1);
            const std::uint64_t from_hole = (next - hole) & (capacity_ - 1);
            if (from_home < from_hole) continue;
            entries_[hole] = entries_[next];
            hole = next;
        }
        entries_[hole] = {};
        used_--;
    }

    Entry* entries_;          // of capacity_, a power of two; empty places have the key 0
    std::uint64_t capacity_;  // 0 before the first entry
    std::uint64_t used_;
};

}  // namespace tessera::guard
