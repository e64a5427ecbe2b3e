#include "guard/region/shared_memory.hpp"

#include "guard/region/account.hpp"

namespace tessera::guard {
namespace {

// What is known of one, in one value.
struct State {
    bool is_there;
    bool has_ended;   // its maker has let go
    bool is_closing;  // somebody is about to find that nobody has it
    int payer;
    int card;
    Granules granules;
};

constexpr std::uint64_t kThere = 1;
constexpr std::uint64_t kEnded = 2;
constexpr std::uint64_t kClosing = 4;
constexpr std::uint64_t kClaimed = 8;  // by the payer, who is still writing it
constexpr unsigned kCardShift = 8;
constexpr unsigned kPayerShift = 16;
constexpr unsigned kGranulesShift = 32;

State unpack(std::uint64_t value) {
    return {(value & kThere) != 0,
            (value & kEnded) != 0,
            (value & kClosing) != 0,
            static_cast<int>(value >> kPayerShift & 0xffff),
            static_cast<int>(value >> kCardShift & 0xff),
            static_cast<Granules>(value >> kGranulesShift & kMaxGranules)};
}

std::uint64_t pack(const State& state) {
    return (state.is_there ? kThere : 0) | (state.has_ended ? kEnded : 0) |
           (state.is_closing ? kClosing : 0) |
           static_cast<std::uint64_t>(state.card) << kCardShift |
           static_cast<std::uint64_t>(state.payer) << kPayerShift |
           std::uint64_t{state.granules} << kGranulesShift;
}

// A tenant may have written anything into the file.
bool is_sound(const State& state) {
    return state.is_there && state.card < kMaxCards && state.payer < kMaxProcesses;
}

std::atomic<std::uint64_t>& word_of(SharedMemory& entry, int slot) {
    return entry.importers[slot / 64];
}

std::uint64_t bit_of(int slot) {
    return std::uint64_t{1} << (slot % 64);
}

int first_importer(const SharedMemory& entry) {
    for (int word = 0; word < kMaxProcesses / 64; word++) {
        const std::uint64_t bits = entry.importers[word].load();
        if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

// Frees the entry if its maker has let go, and nobody has it. Who wants to import it says so first,
// and takes the closing back; so either sees the other.
void settle(Accounts& accounts, SharedMemory& entry) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        const State state = unpack(seen);
        if (!is_sound(state) || !state.has_ended || first_importer(entry) >= 0) return;
        const std::uint64_t closing = seen | kClosing;
        if (!entry.state.compare_exchange_strong(seen, closing)) continue;
        std::uint64_t expected = closing;
        const bool has_any = first_importer(entry) >= 0;
        if (!entry.state.compare_exchange_strong(expected, has_any ? closing & ~kClosing : 0))
            continue;
        if (has_any) return;
        release(accounts, state.card, state.payer, state.granules);
        return;
    }
}

// Charges another who has it.
void pass_on(Accounts& accounts, SharedMemory& entry, int from) {
    for (;;) {
        std::uint64_t seen = entry.state.load();
        State state = unpack(seen);
        if (!is_sound(state) || state.payer != from) return;
        state.has_ended = true;
        state.is_closing = false;
        const int heir = first_importer(entry);
        if (heir < 0) {
            entry.state.compare_exchange_strong(seen, pack(state));
            settle(accounts, entry);
            continue;
        }
        state.payer = heir;
        reserve(accounts, state.card, heir, state.granules, kMaxGranules);
        if (entry.state.compare_exchange_strong(seen, pack(state))) return;
        release(accounts, state.card, heir, state.granules);
    }
}

}  // namespace

int add_shared(Accounts& accounts, const SharedName& name, int payer) {
    accounts.may_have_shared[payer].store(1);
    const std::uint64_t claimed = kClaimed | static_cast<std::uint64_t>(payer) << kPayerShift;
    const std::uint32_t first = accounts.next_shared_memory.fetch_add(1);
    for (std::uint32_t tried = 0; tried < kMaxSharedMemory; tried++) {
        const auto index = static_cast<int>((first + tried) % kMaxSharedMemory);
        SharedMemory& entry = accounts.shared_memory[index];
        std::uint64_t none = 0;
        if (!entry.state.compare_exchange_strong(none, claimed)) continue;
        entry.key.store(name.key);
        for (auto& word : entry.importers)
            word.store(0);
        entry.state.store(pack({true, false, false, payer, name.card, name.granules}));
        return index;
    }
    return -1;
}

int find_shared(const Accounts& accounts, std::uint64_t key) {
    int ended = -1;
    for (int index = 0; index < kMaxSharedMemory; index++) {
        const SharedMemory& entry = accounts.shared_memory[index];
        if (entry.key.load() != key) continue;
        const State state = unpack(entry.state.load());
        if (state.is_there && !state.has_ended) return index;
        if (state.is_there && ended < 0) ended = index;
    }
    return ended;
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
        if ((seen & kThere) == 0 || entry.key.load() != key) {
            word_of(entry, slot).fetch_and(~bit_of(slot));
            return false;
        }
        if ((seen & kClosing) == 0) return true;
        entry.state.compare_exchange_strong(seen, seen & ~kClosing);
    }
}

void leave_shared(Accounts& accounts, int index, int slot) {
    SharedMemory& entry = accounts.shared_memory[index];
    word_of(entry, slot).fetch_and(~bit_of(slot));
    settle(accounts, entry);
}

void end_shared(Accounts& accounts, int index) {
    SharedMemory& entry = accounts.shared_memory[index];
    entry.state.fetch_or(kEnded);
    settle(accounts, entry);
}

void forget_shared_of(Accounts& accounts, int slot) {
    for (SharedMemory& entry : accounts.shared_memory) {
        const std::uint64_t seen = entry.state.load();
        if (seen == 0) continue;
        word_of(entry, slot).fetch_and(~bit_of(slot));
        if ((seen & kClaimed) != 0 && unpack(seen).payer == slot) {
            entry.state.store(0);
        } else if (unpack(seen).payer == slot) {
            pass_on(accounts, entry, slot);
        } else {
            settle(accounts, entry);
        }
    }
    accounts.may_have_shared[slot].store(0);
}

bool may_have_shared(const Accounts& accounts, int slot) {
    return accounts.may_have_shared[slot].load() != 0;
}

}  // namespace tessera::guard
