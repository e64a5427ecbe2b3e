#include "guard/region/shared_memory.hpp"

#include "guard/region/account.hpp"
#include "guard/region/descriptor_files.hpp"

namespace tessera::guard {
namespace {

// What is known of one, in one value.
constexpr std::uint64_t kThere = 1;
constexpr std::uint64_t kEnded = 2;     // its maker has let go
constexpr std::uint64_t kClosing = 4;   // somebody is about to find that nobody has it
constexpr std::uint64_t kClaimed = 8;   // by the payer, who is still writing it
constexpr std::uint64_t kPassing = 16;  // the payer is dead, and the heir is being charged
constexpr std::uint64_t kGoing = 32;    // nobody has it, and the payer's charge is being taken off
constexpr std::uint64_t kFlags = 63;    // none of them: the entry is free
constexpr unsigned kCardShift = 6;
constexpr unsigned kPayerShift = 10;
constexpr unsigned kHeirShift = 20;
constexpr unsigned kRoundShift = 30;
constexpr unsigned kGranulesShift = 40;
constexpr std::uint64_t kCardMask = kMaxCards - 1;
constexpr std::uint64_t kSlotMask = kMaxProcesses - 1;
constexpr std::uint64_t kRoundMask = 1023;
static_assert(kMaxCards <= 1 << (kPayerShift - kCardShift));
static_assert(kMaxProcesses <= 1 << (kHeirShift - kPayerShift));
static_assert((kMaxCards & kCardMask) == 0 && (kMaxProcesses & kSlotMask) == 0);

bool has(std::uint64_t value, std::uint64_t flag) {
    return (value & flag) != 0;
}
int card_of(std::uint64_t value) {
    return static_cast<int>(value >> kCardShift & kCardMask);
}
int payer_of(std::uint64_t value) {
    return static_cast<int>(value >> kPayerShift & kSlotMask);
}
int heir_of(std::uint64_t value) {
    return static_cast<int>(value >> kHeirShift & kSlotMask);
}
Granules granules_in(std::uint64_t value) {
    return static_cast<Granules>(value >> kGranulesShift);
}
std::uint64_t with_payer(std::uint64_t value, int payer) {
    return (value & ~(kSlotMask << kPayerShift)) | static_cast<std::uint64_t>(payer) << kPayerShift;
}
std::uint64_t with_heir(std::uint64_t value, int heir) {
    return (value & ~(kSlotMask << kHeirShift)) | static_cast<std::uint64_t>(heir) << kHeirShift;
}
// The entry without what it was of. The round stays, which is one on at each use: who was stopped
// over an earlier one does not take a later one for it.
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

// Of SharedMemory::descriptors. What it was changes with each that is given away, so who found all
// closed does not take a later one for closed.
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
    if (slot == kNobody) return may_be_open(entry.descriptors.load());
    return (entry.importers[slot / 64].load() & bit_of(slot)) != 0;
}

int first_process(const SharedMemory& entry) {
    for (int word = 0; word < kMaxProcesses / 64; word++) {
        const std::uint64_t bits = entry.importers[word].load();
        if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

// A descriptor after all processes: who can be named is charged.
int first_importer(const SharedMemory& entry) {
    const int process = first_process(entry);
    if (process >= 0) return process;
    return may_be_open(entry.descriptors.load()) ? kNobody : -1;
}

// Nobody but a descriptor may have it.
bool is_left(const SharedMemory& entry) {
    const std::uint64_t seen = entry.state.load();
    return has(seen, kThere) && has(seen, kEnded) && first_process(entry) < 0;
}

// Frees the entry if its maker has let go, and nobody has it. Who wants to import it says so first,
// and takes the closing back; so either sees the other.
//
// Who is killed while it is going leaves the payer charged until that ends; forget() then frees it.
void end_if_unused(Accounts& accounts, SharedMemory& entry) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        // Who passes it on does this afterwards.
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
        release_while(accounts, card_of(going), payer_of(going), granules_in(going),
                      {entry.state, going});
        entry.state.compare_exchange_strong(going, freed(going));
        return;
    }
}

// Charges another who has it, for a payer that is dead and that nobody else buries meanwhile. The
// heir may die at any step, and its slot be another's: so it is named, if it has it then still
// charged while it is named, and pays when it is named after that. Its own burial takes its bit
// first, then the name, then the charge.
//
// Who is killed on the way leaves the dead one charged, and perhaps the heir, until that ends.
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
        reserve_while(accounts, card_of(named), heir, granules_in(named), {entry.state, named});
        if (!entry.state.compare_exchange_strong(named, with_payer(ended, heir))) continue;
        return end_if_unused(accounts, entry);
    }
}

// What it was of is read after `descriptors`, which an entry that is used anew has changed. Who is
// killed before the end leaves an entry that is_left() still.
void take_if_closed(Accounts& accounts, SharedMemory& entry, DescriptorAsker& asker) {
    std::uint64_t descriptors = entry.descriptors.load();
    if (!is_left(entry)) return;
    if (may_be_open(descriptors)) {
        if (asker.may_be_open(entry.file.load(), entry.key.load())) return;
        if (!entry.descriptors.compare_exchange_strong(descriptors, with_none(descriptors))) return;
    }
    end_if_unused(accounts, entry);
}

// What nobody's slot is charged for in the entry, or may be.
Granules charged_to_nobody(const SharedMemory& entry, int card) {
    const std::uint64_t seen = entry.state.load();
    if (!has(seen, kFlags) || card_of(seen) != card) return 0;
    const bool is_named = has(seen, kPassing) && heir_of(seen) == kNobody;
    return is_named || payer_of(seen) == kNobody ? granules_in(seen) : 0;
}

// Whoever was at its end has taken nobody's charge off, or does not any more: then the sum below
// does.
void free_if_going(SharedMemory& entry) {
    std::uint64_t seen = entry.state.load();
    if (has(seen, kGoing) && payer_of(seen) == kNobody)
        entry.state.compare_exchange_strong(seen, freed(seen));
}

// Nobody's slot is never buried, so what others were killed over and left on it is found by a sum:
// that of the entries, which is no less than what was charged for them up to the version before it.
// Whoever takes one off meanwhile has moved the account, and the sum is made again.
void mend_nobodys(Accounts& accounts, int card) {
    constexpr int kTries = 16;
    for (int tried = 0; tried < kTries && held_by(accounts, card, kNobody) != 0; tried++) {
        const std::uint64_t version = version_of(accounts, card);
        Granules sum = 0;
        for (const SharedMemory& entry : accounts.shared_memory)
            sum += charged_to_nobody(entry, card);
        if (lower_to(accounts, card, kNobody, sum, version)) return;
    }
}

// What a dead process was to it, but for its bit.
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
        entry.state.store(payed | kThere | static_cast<std::uint64_t>(name.card) << kCardShift |
                          std::uint64_t{name.granules} << kGranulesShift);
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
            // Whoever let go of what is there now may have taken the bit for a last importer.
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
    if (accounts.next_shared_memory.load() == 0) return;  // nobody has ever exported any
    DescriptorAsker asker(accounts);
    for (SharedMemory& entry : accounts.shared_memory) {
        take_if_closed(accounts, entry, asker);
        free_if_going(entry);
    }
    for (int card = 0; card < kMaxCards; card++)
        mend_nobodys(accounts, card);
}

void find_closed(const Accounts& accounts, int card, Granules (&closed)[kMaxProcesses]) {
    if (accounts.next_shared_memory.load() == 0) return;
    DescriptorAsker asker(accounts);
    for (const SharedMemory& entry : accounts.shared_memory) {
        const std::uint64_t seen = entry.state.load();
        if (card_of(seen) != card || !is_left(entry)) continue;
        const bool is_open = may_be_open(entry.descriptors.load()) &&
                             asker.may_be_open(entry.file.load(), entry.key.load());
        if (!is_open) closed[payer_of(seen)] += granules_in(seen);
    }
}

// The bit first: who names an heir after that does not name this one, and whom it named before,
// forget() sees.
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
