#include "guard/region/shared_memory.hpp"

#include "guard/region/account.hpp"
#include "guard/region/descriptor_files.hpp"

namespace tessera::guard {
namespace {

// The state of an entry, in one value.
constexpr std::uint64_t kThere = 1;
constexpr std::uint64_t kEnded = 2;     // its maker has released it
constexpr std::uint64_t kClosing = 4;   // a process is about to find that no process has it
constexpr std::uint64_t kClaimed = 8;   // by the payer, which is still writing it
constexpr std::uint64_t kPassing = 16;  // the payer is dead, and the heir is being charged
constexpr std::uint64_t kGoing = 32;    // no process has it; the payer's charge is being subtracted
constexpr std::uint64_t kFlags = 63;    // no flag is set: the entry is free
constexpr unsigned kGpuShift = 6;
constexpr unsigned kPayerShift = 10;
constexpr unsigned kHeirShift = 20;
constexpr unsigned kRoundShift = 30;
constexpr unsigned kAllocationUnitsShift = 40;
constexpr std::uint64_t kGpuMask = kMaxGpus - 1;
constexpr std::uint64_t kSlotMask = kMaxProcesses - 1;
constexpr std::uint64_t kRoundMask = 1023;
static_assert(kMaxGpus <= 1 << (kPayerShift - kGpuShift));
static_assert(kMaxProcesses <= 1 << (kHeirShift - kPayerShift));
static_assert((kMaxGpus & kGpuMask) == 0 && (kMaxProcesses & kSlotMask) == 0);

bool has(std::uint64_t value, std::uint64_t flag) {
    return (value & flag) != 0;
}
int gpu_of(std::uint64_t value) {
    return static_cast<int>(value >> kGpuShift & kGpuMask);
}
int payer_of(std::uint64_t value) {
    return static_cast<int>(value >> kPayerShift & kSlotMask);
}
int heir_of(std::uint64_t value) {
    return static_cast<int>(value >> kHeirShift & kSlotMask);
}
AllocationUnits units_in(std::uint64_t value) {
    return static_cast<AllocationUnits>(value >> kAllocationUnitsShift);
}
std::uint64_t with_payer(std::uint64_t value, int payer) {
    return (value & ~(kSlotMask << kPayerShift)) | static_cast<std::uint64_t>(payer) << kPayerShift;
}
std::uint64_t with_heir(std::uint64_t value, int heir) {
    return (value & ~(kSlotMask << kHeirShift)) | static_cast<std::uint64_t>(heir) << kHeirShift;
}
// The entry without its memory. The round stays: it grows by one at each use. So a process that was
// stopped during an earlier use does not mistake a later one for it.
std::uint64_t freed(std::uint64_t value) {
    return value & kRoundMask << kRoundShift;
}
std::uint64_t next_round(std::uint64_t value) {
    return (((value >> kRoundShift) + 1) & kRoundMask) << kRoundShift;
}

std::atomic<std::uint64_t>& word_of(SharedMemory& entry, int slot) {
    return entry.importers[slot / 64];
}

std::uint64_t bit_of(int slot) {
    return std::uint64_t{1} << (slot % 64);
}

// For SharedMemory::descriptors. Its value changes with each descriptor that is given away. So a
// process that found all descriptors closed does not take a later one for closed.
bool may_be_open(std::uint64_t descriptors) {
    return descriptors % 2 != 0;
}
std::uint64_t with_one_more(std::uint64_t descriptors) {
    return (descriptors | 1) + 2;
}
std::uint64_t with_none(std::uint64_t descriptors) {
    return descriptors & ~std::uint64_t{1};
}

bool is_importer(const SharedMemory& entry, int slot) {
    if (slot == kOrphanSlot) return may_be_open(entry.descriptors.load());
    return (entry.importers[slot / 64].load() & bit_of(slot)) != 0;
}

int first_process(const SharedMemory& entry) {
    for (int word = 0; word < kMaxProcesses / 64; word++) {
        const std::uint64_t bits = entry.importers[word].load();
        if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

// Prefers processes to a descriptor: if any process has the memory, that one is charged.
int first_importer(const SharedMemory& entry) {
    const int process = first_process(entry);
    if (process >= 0) return process;
    return may_be_open(entry.descriptors.load()) ? kOrphanSlot : -1;
}

// Whether at most a descriptor has the memory.
bool is_left(const SharedMemory& entry) {
    const std::uint64_t seen = entry.state.load();
    return has(seen, kThere) && has(seen, kEnded) && first_process(entry) < 0;
}

// Frees the entry if its maker has released it and no process has it. A process that wants to
// import it sets its bit first and then removes kClosing, so one of the two sees the other.
//
// If the caller is killed while kGoing is set, the payer stays charged until it ends; forget() then
// frees the entry.
void end_if_unused(Accounts& accounts, SharedMemory& entry) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        // The process that passes the charge on does this afterwards.
        if (!has(seen, kThere) || !has(seen, kEnded) || has(seen, kPassing)) return;
        if (first_importer(entry) >= 0) return;
        std::uint64_t closing = seen | kClosing;
        if (!entry.state.compare_exchange_strong(seen, closing)) continue;
        if (first_importer(entry) >= 0) {
            if (entry.state.compare_exchange_strong(closing, closing & ~kClosing)) return;
            continue;
        }
        std::uint64_t going = (closing & ~(kThere | kClosing)) | kGoing;
        if (!entry.state.compare_exchange_strong(closing, going)) continue;
        release_while(accounts, gpu_of(going), payer_of(going), units_in(going),
                      {entry.state, going});
        entry.state.compare_exchange_strong(going, freed(going));
        return;
    }
}

// Charges another process that has the memory, for a payer that is dead and that no other process
// cleans up at the same time. The heir may die at any step, and its slot may be another process's
// by then. So it is named first. It is charged while it is named, if it still has the memory then,
// and becomes the payer after that. Its own cleanup removes its bit first, then the name, then the
// charge.
//
// If the caller is killed on the way, the dead payer and perhaps the heir stay charged until that
// one ends.
void pass_on(Accounts& accounts, SharedMemory& entry, int from) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        if (!has(seen, kThere) || payer_of(seen) != from) return;
        const std::uint64_t ended = (seen | kEnded) & ~(kClosing | kPassing);
        const int heir = first_importer(entry);
        if (heir < 0) {
            if (entry.state.compare_exchange_strong(seen, ended)) end_if_unused(accounts, entry);
            continue;
        }
        std::uint64_t named = with_heir(ended, heir) | kPassing;
        if (!entry.state.compare_exchange_strong(seen, named)) continue;
        if (!is_importer(entry, heir)) continue;
        reserve_while(accounts, gpu_of(named), heir, units_in(named), {entry.state, named});
        if (!entry.state.compare_exchange_strong(named, with_payer(ended, heir))) continue;
        return end_if_unused(accounts, entry);
    }
}

// The entry's memory is read after `descriptors`, which changes when an entry is used again. If the
// caller is killed before the end, is_left() still holds for the entry.
void take_if_closed(Accounts& accounts, SharedMemory& entry, DescriptorAsker& asker) {
    std::uint64_t descriptors = entry.descriptors.load();
    if (!is_left(entry)) return;
    if (may_be_open(descriptors)) {
        if (asker.may_be_open(entry.file.load(), entry.key.load())) return;
        if (!entry.descriptors.compare_exchange_strong(descriptors, with_none(descriptors))) return;
    }
    end_if_unused(accounts, entry);
}

// What kOrphanSlot is charged for in the entry, or may be charged for.
AllocationUnits charged_to_orphans(const SharedMemory& entry, int gpu) {
    const std::uint64_t seen = entry.state.load();
    if (!has(seen, kFlags) || gpu_of(seen) != gpu) return 0;
    const bool is_named = has(seen, kPassing) && heir_of(seen) == kOrphanSlot;
    return is_named || payer_of(seen) == kOrphanSlot ? units_in(seen) : 0;
}

// The process that was removing this entry has subtracted kOrphanSlot's charge, or no longer does
// it: then the sum below does it.
void free_if_going(SharedMemory& entry) {
    std::uint64_t seen = entry.state.load();
    if (has(seen, kGoing) && payer_of(seen) == kOrphanSlot)
        entry.state.compare_exchange_strong(seen, freed(seen));
}

// kOrphanSlot is never cleaned up as a dead process's slot is. So charges that killed processes
// left on it are found by a sum over the entries. The sum is at least what was charged for them up
// to the version read before it. A process that subtracts a charge meanwhile moves the account, and
// the sum is computed again.
void correct_orphaned(Accounts& accounts, int gpu) {
    constexpr int kTries = 16;
    for (int tried = 0; tried < kTries && held_by(accounts, gpu, kOrphanSlot) != 0; tried++) {
        const std::uint64_t version = version_of(accounts, gpu);
        AllocationUnits sum = 0;
        for (const SharedMemory& entry : accounts.shared_memory)
            sum += charged_to_orphans(entry, gpu);
        if (lower_to(accounts, gpu, kOrphanSlot, sum, version)) return;
    }
}

// Drops the role of a dead process in the entry, except for its bit.
void forget(Accounts& accounts, SharedMemory& entry, int slot) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        const bool is_payer = payer_of(seen) == slot;
        if (is_payer && has(seen, kClaimed | kGoing)) {
            if (entry.state.compare_exchange_strong(seen, freed(seen))) return;
        } else if (has(seen, kPassing) && !is_payer && heir_of(seen) == slot) {
            entry.state.compare_exchange_strong(seen, seen & ~kPassing);
        } else {
            return is_payer ? pass_on(accounts, entry, slot) : end_if_unused(accounts, entry);
        }
    }
}

}  // namespace

int add_shared(Accounts& accounts, const SharedName& name, int payer) {
    accounts.may_have_shared[payer].store(1);
    const std::uint32_t first = accounts.next_shared_memory.fetch_add(1);
    for (std::uint32_t tried = 0; tried < kMaxSharedMemory; tried++) {
        const auto index = static_cast<int>((first + tried) % kMaxSharedMemory);
        SharedMemory& entry = accounts.shared_memory[index];
        std::uint64_t seen = entry.state.load();
        if (has(seen, kFlags)) continue;
        const std::uint64_t payed = with_payer(next_round(seen), payer);
        if (!entry.state.compare_exchange_strong(seen, payed | kClaimed)) continue;
        entry.key.store(name.key);
        entry.file.store(name.file);
        for (auto& word : entry.importers)
            word.store(0);
        const std::uint64_t used = with_one_more(entry.descriptors.load());
        entry.descriptors.store(name.file != 0 ? used : with_none(used));
        entry.state.store(payed | kThere | static_cast<std::uint64_t>(name.gpu) << kGpuShift |
                          std::uint64_t{name.units} << kAllocationUnitsShift);
        return index;
    }
    return -1;
}

int find_shared(const Accounts& accounts, std::uint64_t key) {
    int ended = -1;
    for (int index = 0; index < kMaxSharedMemory; index++) {
        const SharedMemory& entry = accounts.shared_memory[index];
        if (entry.key.load() != key) continue;
        const std::uint64_t state = entry.state.load();
        if (has(state, kThere) && !has(state, kEnded)) return index;
        if (has(state, kThere) && ended < 0) ended = index;
    }
    return ended;
}

bool is_there(const SharedMemory& entry) {
    return has(entry.state.load(), kThere);
}

bool is_in_use(const SharedMemory& entry) {
    return has(entry.state.load(), kFlags);
}

bool was_shared(const Accounts& accounts, std::uint64_t key) {
    for (const SharedMemory& entry : accounts.shared_memory)
        if (entry.key.load() == key) return true;
    return false;
}

bool join_shared(Accounts& accounts, int index, std::uint64_t key, int slot) {
    SharedMemory& entry = accounts.shared_memory[index];
    accounts.may_have_shared[slot].store(1);
    word_of(entry, slot).fetch_or(bit_of(slot));
    for (;;) {
        std::uint64_t seen = entry.state.load();
        if (!has(seen, kThere) || entry.key.load() != key) {
            // The process that released the memory now in the entry may have taken our bit for a
            // last importer.
            leave_shared(accounts, index, slot);
            return false;
        }
        if (!has(seen, kClosing)) return true;
        entry.state.compare_exchange_strong(seen, seen & ~kClosing);
    }
}

void leave_shared(Accounts& accounts, int index, int slot) {
    SharedMemory& entry = accounts.shared_memory[index];
    word_of(entry, slot).fetch_and(~bit_of(slot));
    end_if_unused(accounts, entry);
}

void end_shared(Accounts& accounts, int index) {
    SharedMemory& entry = accounts.shared_memory[index];
    std::uint64_t seen = entry.state.load();
    while (has(seen, kThere) && !entry.state.compare_exchange_strong(seen, seen | kEnded)) {
    }
    end_if_unused(accounts, entry);
}

void share_again(Accounts& accounts, int index) {
    std::atomic<std::uint64_t>& descriptors = accounts.shared_memory[index].descriptors;
    std::uint64_t seen = descriptors.load();
    while (!descriptors.compare_exchange_strong(seen, with_one_more(seen))) {
    }
}

void give_closed_back(Accounts& accounts, int index) {
    DescriptorAsker asker(accounts);
    take_if_closed(accounts, accounts.shared_memory[index], asker);
}

void give_closed_back(Accounts& accounts) {
    if (accounts.next_shared_memory.load() == 0) return;  // no process has ever exported any
    DescriptorAsker asker(accounts);
    for (SharedMemory& entry : accounts.shared_memory) {
        take_if_closed(accounts, entry, asker);
        free_if_going(entry);
    }
    for (int gpu = 0; gpu < kMaxGpus; gpu++)
        correct_orphaned(accounts, gpu);
}

void find_closed(const Accounts& accounts, int gpu, AllocationUnits (&closed)[kMaxProcesses]) {
    if (accounts.next_shared_memory.load() == 0) return;
    DescriptorAsker asker(accounts);
    for (const SharedMemory& entry : accounts.shared_memory) {
        const std::uint64_t seen = entry.state.load();
        if (gpu_of(seen) != gpu || !is_left(entry)) continue;
        const bool is_open = may_be_open(entry.descriptors.load()) &&
                             asker.may_be_open(entry.file.load(), entry.key.load());
        if (!is_open) closed[payer_of(seen)] += units_in(seen);
    }
}

// The bit first: a process that names an heir after that does not name this slot. If it named this
// slot before that, forget() sees it.
void forget_shared_of(Accounts& accounts, int slot) {
    for (SharedMemory& entry : accounts.shared_memory) {
        if (!is_in_use(entry)) continue;
        word_of(entry, slot).fetch_and(~bit_of(slot));
        forget(accounts, entry, slot);
    }
    accounts.may_have_shared[slot].store(0);
}

bool may_have_shared(const Accounts& accounts, int slot) {
    return accounts.may_have_shared[slot].load() != 0;
}

}  // namespace tessera::guard
