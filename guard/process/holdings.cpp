#include "guard/process/holdings.hpp"

#include <sys/mman.h>

namespace tessera::guard {
namespace {

constexpr std::uint64_t kGrain = 512;
constexpr std::uint64_t kFirstCapacity = 1024;

constexpr bool is_small(std::uint64_t bytes) {
    return bytes < kGranuleBytes;
}

constexpr std::uint64_t in_grains(std::uint64_t bytes) {
    return (bytes + kGrain - 1) / kGrain * kGrain;
}

// Addresses differ in their middle bits. Source of the constant: Knuth's multiplicative hash, 2^64
// by the golden ratio.
constexpr std::uint64_t hash_of(std::uint64_t address) {
    return (address * 0x9e3779b97f4a7c15U) >> 20U;
}

}  // namespace

Granules Holdings::cost_of(int card, std::uint64_t bytes) const {
    if (!is_small(bytes)) return granules_of(bytes);
    const std::uint64_t now = small_bytes_[card];
    return granules_of(now + in_grains(bytes)) - granules_of(now);
}

Granules Holdings::worth_of(int card, std::uint64_t bytes) const {
    if (!is_small(bytes)) return granules_of(bytes);
    const std::uint64_t now = small_bytes_[card];
    return granules_of(now) - granules_of(now - in_grains(bytes));
}

void Holdings::count(int card, std::uint64_t bytes) {
    if (is_small(bytes)) small_bytes_[card] += in_grains(bytes);
}

void Holdings::discount(int card, std::uint64_t bytes) {
    if (is_small(bytes)) small_bytes_[card] -= in_grains(bytes);
}

// Where the address stands, or the empty place where it would.
std::uint64_t Holdings::place_of(std::uint64_t address) const {
    std::uint64_t place = hash_of(address) & (capacity_ - 1);
    while (table_[place].address != 0 && table_[place].address != address)
        place = (place + 1) & (capacity_ - 1);
    return place;
}

// Twice as large, so that at most half of it is used.
bool Holdings::grow() {
    const Holdings old = *this;
    const std::uint64_t capacity = old.capacity_ == 0 ? kFirstCapacity : 2 * old.capacity_;
    void* pages = mmap(nullptr, capacity * sizeof(Holding), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    table_ = static_cast<Holding*>(pages);
    capacity_ = capacity;
    for (std::uint64_t place = 0; place < old.capacity_; place++) {
        const Holding& holding = old.table_[place];
        if (holding.address != 0) table_[place_of(holding.address)] = holding;
    }
    if (old.capacity_ != 0) munmap(old.table_, old.capacity_ * sizeof(Holding));
    return true;
}

bool Holdings::add(const Holding& holding) {
    if (2 * (used_ + 1) > capacity_ && !grow()) return false;
    Holding& place = table_[place_of(holding.address)];
    if (place.address == 0) used_++;
    place = holding;
    return true;
}

// Those behind it that had to go further move up, so no place is ever marked as deleted.
void Holdings::erase(std::uint64_t place) {
    std::uint64_t hole = place;
    for (std::uint64_t next = (hole + 1) & (capacity_ - 1); table_[next].address != 0;
         next = (next + 1) & (capacity_ - 1)) {
        const std::uint64_t home = hash_of(table_[next].address) & (capacity_ - 1);
        const std::uint64_t from_home = (next - home) & (capacity_ - 1);
        const std::uint64_t from_hole = (next - hole) & (capacity_ - 1);
        if (from_home < from_hole) continue;
        table_[hole] = table_[next];
        hole = next;
    }
    table_[hole] = {};
    used_--;
}

Holding Holdings::take(std::uint64_t address) {
    if (capacity_ == 0 || address == 0) return {};
    const std::uint64_t place = place_of(address);
    const Holding found = table_[place];
    if (found.address != 0) erase(place);
    return found;
}

// What erase() moves comes to stand here or later, or was looked at.
Holding Holdings::take_next_of(CUcontext context, std::uint64_t& place) {
    for (; place < capacity_; place++) {
        const Holding found = table_[place];
        if (found.address == 0 || found.context != context) continue;
        erase(place);
        return found;
    }
    return {};
}

}  // namespace tessera::guard
