// The binary state that all processes of one simulated node share: the file `gpusim/cards`.
//
// Invariants:
//  1. `cards` (but for its atomics) never changes after `gpusimctl create` renamed the root in
//  place.
//  2. A slot belongs to the process that holds the write lock on byte <slot index> of
//  `gpusim/locks`.
//     Without a holder a slot's content counts for nothing, whatever it says.
//  3. Only the owner of a slot raises or lowers its numbers, each with one aligned store, so that a
//     kill at any instant leaves a valid file. It raises them under the decision lock.
//  4. Slots change hands, and events are written, under the decision lock.
//  5. An engine's moments and a slot's bookings change under the engine's lock (timeline.hpp). A
//  moment
//     counts from the one store on that makes it the newest.
//  6. Memory that processes can share is no slot's: it has an entry of `shared`, which is live
//  while
//     the owner of a slot in `holders` lives or a descriptor holds its byte of `gpusim/memory`
//     (shared.hpp). A dead entry counts for nothing. Entries change under the decision lock.
// Thread rule: every atomic may be read by any thread of any process without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpusim {

inline constexpr char kMagic[8] = {'g', 'p', 'u', 's', 'i', 'm', '\n', '\0'};
inline constexpr std::uint32_t kLayoutVersion = 7;

inline constexpr int kMaxCards = 64;
inline constexpr int kMaxSlots = 1024;
inline constexpr int kMaxEvents = 256;
inline constexpr int kMaxShared = 2048;

inline constexpr int kMoments = 4096;

inline constexpr std::uint32_t kNone = 0xffffffff;  // of switches and links

inline constexpr std::uint64_t kGranuleBytes = std::uint64_t{2} << 20;

// What the simulated driver says of itself.
inline constexpr char kDriverVersion[] = "570.124.06";
inline constexpr char kNvmlVersion[] = "12.570.124.06";
inline constexpr int kCudaVersion = 12080;

// How the processes of a card share its time: by turns, or side by side, as under MPS.
enum class Sharing : std::uint32_t { turns, side_by_side };

// What the next kernel on a card does instead of its work.
enum class KernelFault : std::uint32_t { none, illegal_address, uncorrectable_ecc, hang };

// What NVML does not say of a card: bits of Card::hidden.
enum Hidden : std::uint32_t {
    kHidesMemory = 1,          // its size, as of a GPU that shares the host's memory
    kHidesReserve = 2,         // apart from what is in use
    kHidesMinor = 4,           // its number in /dev
    kHidesName = 8,            // its model
    kHidesTopology = 16,       // links and the NUMA node
    kHidesSizeAlone = 32,      // its size: it is said to be 0, and the reserve as it is
    kFailsMemory = 64,         // the question for its memory fails, and no other does
    kHidesProcessMemory = 128  // what each process uses
};

// Repairs of the card's memory: which ones wait for a reset, and whether one was impossible.
enum class Rows : std::uint32_t { good, pending, failed };

struct Card {
    char uuid[48];   // "GPU-" and 36 characters
    char model[96];  // as nvmlDeviceGetName gives it
    std::uint64_t memory_bytes;
    std::uint64_t reserved_bytes;  // the driver's own; never to be had by a process
    std::uint64_t context_overhead_bytes;
    std::uint64_t graph_overhead_bytes;  // of each executable graph
    std::uint32_t minor;
    std::uint32_t pci_domain;
    std::uint32_t pci_bus;
    std::uint32_t pci_device;
    std::int32_t compute_major;
    std::int32_t compute_minor;
    std::uint32_t numa;         // the NUMA node of its slot
    std::uint32_t pcie_switch;  // cards with the same number are behind one; kNone
    std::uint32_t nvlink;       // cards with the same number are linked, each with each; kNone
    std::uint32_t event_clock_fast_ppm;          // the clock of events, beside the host's
    std::atomic<std::uint32_t> lost;             // 1 from `gpusimctl lose` to `recover`
    std::atomic<std::uint32_t> recovery_action;  // an nvmlDeviceGpuRecoveryAction_t
    std::atomic<std::uint32_t> nvml_error;       // what NVML answers for the card; 0: the truth
    std::atomic<std::uint32_t> hidden;           // bits of Hidden
    std::atomic<std::uint32_t> mig_mode;         // 1: on
    std::atomic<std::uint32_t> compute_mode;     // an nvmlComputeMode_t
    std::atomic<Rows> remapped_rows;
    std::atomic<std::uint32_t> retired_pages;       // 1: some are to be retired at the next reset
    std::atomic<std::uint32_t> uncorrected_errors;  // of its memory, since the driver was loaded
    std::atomic<Sharing> sharing;
    std::atomic<KernelFault> next_kernel;
    // This many allocations from now, one fails although there is room; 0: none.
    std::atomic<std::uint64_t> failing_allocation;
};

enum class Engine { compute, copies };
inline constexpr int kEngines = 2;

// How far an engine had come with each process's work at a time: in picoseconds, as a process would
// count them that always had work. Between two moments that grows evenly.
struct Moment {
    std::atomic<std::int64_t> time_ns;  // CLOCK_MONOTONIC
    std::atomic<std::int64_t> work_ps;
};

// What a slot has an engine do, in terms of Moment::work_ps.
struct Booking {
    std::atomic<std::int64_t> since_ps;   // it has had work
    std::atomic<std::int64_t> until_ps;   // it will have
    std::atomic<std::int64_t> before_ps;  // what it had done in all before, of the whole engine
    std::atomic<std::uint32_t> demand;    // thousandths of the engine that its work fills
};

struct EngineState {
    std::atomic<std::uint64_t> moments_total;  // moment n is at n % kMoments; 0: none yet
    Moment moments[kMoments];
    Booking bookings[kMaxSlots];
};

struct Event {
    std::atomic<std::uint64_t> number;  // 1, 2, ...; 0 while the entry is being written
    std::atomic<std::uint64_t> type;    // an nvmlEventType bit
    std::atomic<std::uint64_t> data;
    std::atomic<std::uint64_t> card;  // index into `cards`
};

struct Slot {
    std::atomic<std::uint32_t> in_use;  // 0: never a live owner, so that readers need not ask
    std::atomic<std::uint32_t> contexts[kMaxCards];
    std::atomic<std::uint64_t> bytes[kMaxCards];  // whole granules, context overhead included
};

inline constexpr std::uint32_t kNoCard = 0xffffffff;  // the host's memory
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

// Memory that more than one process can hold, counted once.
struct SharedMemory {
    std::atomic<std::uint64_t> bytes;   // whole granules; 0: the entry is free
    std::atomic<std::uint64_t> serial;  // never given twice
    std::atomic<std::uint64_t> offset;  // where in `gpusim/memory` its content is
    std::atomic<std::uint32_t> card;
    std::atomic<std::uint32_t> creator;  // the slot that made it, kNoSlot when that died or let go
    std::atomic<std::uint32_t> is_exported;              // descriptors may hold it
    std::atomic<std::uint64_t> holders[kMaxSlots / 64];  // one bit per slot
};

// What NVML is on this node: `old` cannot say what a faulty card needs, `dead` fails every call.
enum class NvmlKind : std::uint32_t { current, old, dead };

struct CardsFile {
    char magic[8];
    std::uint32_t version;
    std::uint32_t card_count;
    std::atomic<NvmlKind> nvml_kind;
    std::atomic<std::uint32_t> driver_loads;  // NVML that came up before the last one is of no use
    Card cards[kMaxCards];
    std::atomic<std::uint32_t> event_bell;    // futex: changes with every event
    std::atomic<std::uint64_t> events_total;  // number of the newest event
    Event events[kMaxEvents];                 // event n is at n % kMaxEvents
    std::atomic<std::int32_t> slots_end;      // no slot from here on was ever taken
    Slot slots[kMaxSlots];
    std::atomic<std::uint64_t> shared_total;  // serial of the newest entry
    std::atomic<std::int32_t> shared_end;     // no entry from here on was ever taken
    SharedMemory shared[kMaxShared];
    EngineState engines[kMaxCards][kEngines];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint64_t>) == 8);
static_assert(sizeof(Card) == 272);
static_assert(offsetof(CardsFile, slots) % 8 == 0);

inline std::uint64_t capacity_bytes(const Card& card) {
    return card.memory_bytes - card.reserved_bytes;
}

}  // namespace gpusim
