// What the processes of one container share: two files, made by the agent. `limits` is mounted
// read-only in the container; `accounts` is written by its processes. A tenant who writes nonsense
// into `accounts`, or truncates it, harms his own processes: nobody else maps it, and whoever reads
// it believes nothing that cannot be.
//
// Both are plain memory of one layout on one machine. A reader that finds another version or size
// refuses the file; nobody converts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::guard {

inline constexpr std::uint64_t kGranuleBytes = std::uint64_t{2} << 20;
inline constexpr int kMaxCards = 16;
inline constexpr int kMaxProcesses = 1024;
// Of these no process ever takes this one: it is charged for what descriptors alone hold, once its
// maker is dead (shared_memory.hpp).
inline constexpr int kNobody = kMaxProcesses - 1;

// In the container both stand beside the guard's library.
inline constexpr char kLimitsName[] = "limits";
inline constexpr char kAccountsName[] = "accounts";

// Raised together, with every change of what either file means: the agent tells by the limits,
// which it wrote itself, whether it can read the accounts beside them.
inline constexpr std::uint32_t kLimitsMagic = 0x384c5354;    // "TSL8"
inline constexpr std::uint32_t kAccountsMagic = 0x38415354;  // "TSA8"

// Memory, in granules: what the driver takes from a card at a time.
using Granules = std::uint32_t;
inline constexpr Granules kMaxGranules = (1U << 24) - 1;  // 32 TiB

constexpr Granules granules_of(std::uint64_t bytes) {
    const std::uint64_t whole = bytes / kGranuleBytes + (bytes % kGranuleBytes != 0 ? 1 : 0);
    return whole < kMaxGranules ? static_cast<Granules>(whole) : kMaxGranules;
}

// Of a card's work: its engines for them run beside each other.
enum class WorkKind { kernels, copies };
inline constexpr int kWorkKinds = 2;

// Parts of a card's time, in millionths.
using Millionths = std::uint32_t;
inline constexpr Millionths kWhole = 1'000'000;

// What the arbiter lets the container do on a card (grant.hpp): two copies, of which one is right
// while the other is written.
struct Grant {
    struct OfKind {
        std::atomic<std::int64_t> balance_ns;  // of the card's time, that the container may use
        std::atomic<Millionths> part;  // of its time in flight, its own: neighbours have the rest
    };
    struct Copy {
        std::atomic<std::int64_t> as_of_ns;  // CLOCK_MONOTONIC; 0: none yet
        // At which the balances grow; kAloneRate: nobody else wanted the card of late.
        std::atomic<Millionths> rate;
        OfKind of[kWorkKinds];
    };

    std::atomic<std::uint32_t> version;  // copy version % 2 is right
    Copy copies[2];
};

struct CardLimit {
    std::uint8_t uuid[16];                // the card, as CUuuid
    std::atomic<Granules> memory;         // changed at any time; below what is held: nothing new
    std::atomic<Granules> most_memory;    // that it ever was: nobody can hold more and say so truly
    std::atomic<Granules> context_cost;   // what a context takes of it by itself
    std::atomic<Millionths> cores;        // of its time that the container is sure of
    std::atomic<Millionths> ceiling;      // and the most it gets
    std::atomic<std::uint32_t> is_timed;  // its time is shared out at all; if not, nobody counts it
    Grant grant;
};

struct Limits {
    std::uint32_t magic;
    std::uint32_t size;  // of this structure
    std::uint32_t card_count;
    CardLimit cards[kMaxCards];
};

// Two words that change together (pair.hpp). The version only grows.
struct alignas(16) Pair {
    std::uint64_t version;
    std::uint64_t value;
};

// What the container holds of one card, and who moved it last (account.hpp).
struct alignas(64) Account {
    Pair last_move;
    std::atomic<std::uint64_t> refusals;  // allocations that the limit refused
};

// One process of the container. It lives while its byte of the file is locked (life.hpp).
struct alignas(64) Slot {
    std::atomic<std::int32_t> pid;  // as the process itself sees it; to be shown, not relied on
    Pair held[kMaxCards];           // granules of each card, since which version
};

// How long a process had work of a kind on a card, by the clock.
struct InFlight {
    std::atomic<std::int64_t> total_ns;  // of whoever had the slot; without the time since
    std::atomic<std::int64_t> since_ns;  // CLOCK_MONOTONIC; 0: it has none now
};

// A process's time on a card. Written by the process alone, read by the arbiter.
struct ProcessTime {
    InFlight in_flight[kWorkKinds];
    std::atomic<std::int64_t> waited_ns;  // of its threads together, for their turn
    std::atomic<std::uint32_t> waiting;   // threads that do now
    // CLOCK_MONOTONIC: when the guard last ran in the process. Where it does not (a process that is
    // stopped; a dead one whose lock its children have), nobody says when work ends.
    std::atomic<std::int64_t> seen_ns;
};

// So long after it ran what a process has in flight counts no further. Less, and who gives the card
// a long kernel and stops would not pay for it.
inline constexpr std::int64_t kUnseenNs = 5'000'000'000;

// The last pieces of a process's work, so that the arbiter sees with whose they met.
inline constexpr int kLogEntries = 32;  // a power of two

struct FlightLog {
    struct Entry {
        std::atomic<std::int64_t> start_ns;  // CLOCK_MONOTONIC
        std::atomic<std::uint64_t> what;     // pack_piece()
    };

    std::atomic<std::uint64_t> total;  // entry n is at n % kLogEntries
    Entry entries[kLogEntries];
};

// Memory that a process has exported (shared_memory.hpp).
inline constexpr int kMaxSharedMemory = 1024;

struct alignas(64) SharedMemory {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> state;  // who is charged for what, in one value
    std::atomic<std::uint64_t> importers[kMaxProcesses / 64];  // one bit for each slot
    // Odd while a descriptor of it may be open; it grows with each that is given away, and each
    // use.
    std::atomic<std::uint64_t> descriptors;
    std::atomic<std::int32_t> file;  // that these are of (descriptor_files.hpp)
};

// A file that descriptors of memory are of, all of a driver's as a rule.
inline constexpr int kMaxDescriptorFiles = 16;

struct DescriptorFile {
    std::atomic<std::uint32_t> state;
    std::atomic<std::uint64_t> device;
    std::atomic<std::uint64_t> inode;
    char path[232];
};

// Contexts that may differ in what they take of a card: by the flags that they are made with, but
// for those of scheduling, and by whether there is more to say of them (its part of the card's
// multiprocessors, say). See context_kind_of() of process/context_cost.hpp.
inline constexpr int kContextKinds = 64;

// A cost that is measured once. It may be nothing.
struct MeasuredCost {
    std::atomic<Granules> and_one;  // 0: not measured yet

    [[nodiscard]] bool is_known() const { return and_one.load() != 0; }
    [[nodiscard]] Granules granules() const {
        const Granules written = and_one.load();
        return written == 0 ? 0 : written - 1;
    }
    // Unless it is known.
    void note(Granules measured) {
        Granules none = 0;
        and_one.compare_exchange_strong(none, measured + 1);
    }
};

// In this order, for its offsets are what the agent reads: padding costs nothing here.
struct Accounts {  // NOLINT(clang-analyzer-optin.performance.Padding)
    std::uint32_t magic;
    std::uint32_t size;                    // of this structure
    std::atomic<std::uint32_t> next_slot;  // where the next process looks first
    std::atomic<std::uint32_t> slots_end;  // no slot from here on was ever taken
    Account cards[kMaxCards];
    Slot slots[kMaxProcesses];
    ProcessTime times[kMaxProcesses][kMaxCards];
    FlightLog logs[kMaxProcesses];
    std::atomic<std::uint32_t> next_shared_memory;  // where the next one looks for a place first
    SharedMemory shared_memory[kMaxSharedMemory];
    DescriptorFile descriptor_files[kMaxDescriptorFiles];
    std::atomic<std::uint32_t> may_have_shared[kMaxProcesses];  // charged for or imported
    MeasuredCost context_costs[kMaxCards][kContextKinds];       // of the first of each kind
    // CLOCK_MONOTONIC: when a thread last went on although it was not its turn.
    std::atomic<std::int64_t> impatient_ns[kMaxCards];
    // CLOCK_MONOTONIC: when each process expects to be done with what it has given a card, where
    // that is long (compute/outstanding.hpp). Together, for all are read at each turn.
    std::atomic<std::int64_t> expected_end_ns[kMaxCards][kWorkKinds][kMaxProcesses];
    // The order of turns, when they are for long work (compute/order.hpp).
    struct Order {
        std::atomic<std::int64_t> level_ns;               // at which who comes new begins
        std::atomic<std::int64_t> had_ns[kMaxProcesses];  // each one, of the card's time
        std::atomic<std::int64_t>
            asked_ns[kMaxProcesses];  // when who waits last asked; 0: it doesn't
    } orders[kMaxCards][kWorkKinds];
};

// No slot from there on was ever taken.
inline int slots_end(const Accounts& accounts) {
    const std::uint32_t written = accounts.slots_end.load();
    return written < std::uint32_t{kMaxProcesses} ? static_cast<int>(written) : kMaxProcesses;
}

// How a file of accounts begins.
struct AccountsHead {
    std::uint32_t magic = kAccountsMagic;
    std::uint32_t size = sizeof(Accounts);
};

inline bool is_of_this_layout(const Accounts& accounts) {
    return accounts.magic == kAccountsMagic && accounts.size == sizeof(Accounts);
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<Granules>::is_always_lock_free);

}  // namespace tessera::guard
