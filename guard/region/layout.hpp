// What the processes of one container share: two files that the agent creates. `limits` is mounted
// read-only in the container; the container's processes write `accounts`. A tenant that writes
// nonsense into `accounts`, or truncates it, harms only its own processes. Only they map it; other
// readers check every value that they read.
//
// Both files are plain memory of one layout on one machine. A reader that finds another version or
// size rejects the file; no program converts it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera::guard {

inline constexpr std::uint64_t kAllocationUnitBytes = std::uint64_t{2} << 20;
inline constexpr int kMaxGpus = 16;
inline constexpr int kMaxProcesses = 1024;
// No process ever takes this slot. It is charged for orphaned memory: its creator is dead, and only
// descriptors hold it (shared_memory.hpp).
inline constexpr int kOrphanSlot = kMaxProcesses - 1;

// In the container both files are in the same directory as the guard's library.
inline constexpr char kLimitsName[] = "limits";
inline constexpr char kAccountsName[] = "accounts";

// Raise both together, with every change of what either file means. The agent checks the limits,
// which it wrote itself, to find out whether it can read the accounts in the same directory.
inline constexpr std::uint32_t kLimitsMagic = 0x394c5354;    // "TSL9"
inline constexpr std::uint32_t kAccountsMagic = 0x39415354;  // "TSA9"

// Memory in allocation units: the smallest amount that the driver takes from a GPU.
using AllocationUnits = std::uint32_t;
inline constexpr AllocationUnits kMaxAllocationUnits = (1U << 24) - 1;  // 32 TiB

constexpr AllocationUnits units_of(std::uint64_t bytes) {
    const std::uint64_t whole =
        bytes / kAllocationUnitBytes + (bytes % kAllocationUnitBytes != 0 ? 1 : 0);
    return whole < kMaxAllocationUnits ? static_cast<AllocationUnits>(whole) : kMaxAllocationUnits;
}

// Kinds of GPU work: the GPU runs them side by side, on separate engines.
enum class WorkKind { kernels, copies };
inline constexpr int kWorkKinds = 2;

// Parts of a GPU's time, in millionths.
using Millionths = std::uint32_t;
inline constexpr Millionths kWhole = 1'000'000;

// What the arbiter grants the container on a GPU (grant.hpp). There are two copies: one is valid
// while the other is written.
struct Grant {
    struct OfKind {
        std::atomic<std::int64_t> balance_ns;  // of the GPU's time that the container may use
        std::atomic<Millionths> part;  // its part of its time in flight; neighbours have the rest
    };
    struct Copy {
        std::atomic<std::int64_t> as_of_ns;  // CLOCK_MONOTONIC; 0: none yet
        // The rate at which the balances grow; kAloneRate: no other container wanted the GPU
        // recently.
        std::atomic<Millionths> rate;
        OfKind of[kWorkKinds];
    };

    std::atomic<std::uint32_t> version;  // copy version % 2 is valid
    Copy copies[2];
};

struct GpuLimit {
    std::uint8_t uuid[16];  // the GPU, as CUuuid
    std::atomic<AllocationUnits>
        memory;  // may change at any time; if below what is held, new allocations are refused
    // The highest value that `memory` ever had: the container cannot truly hold more.
    std::atomic<AllocationUnits> most_memory;
    std::atomic<AllocationUnits> context_cost;  // what a context itself takes of it
    std::atomic<Millionths> cores;        // part of its time that is guaranteed to the container
    std::atomic<Millionths> cores_limit;  // the most that the container gets
    std::atomic<std::uint32_t> is_timed;  // whether its time is shared; if not, it is not measured
    // Of the GPU's multiprocessors, the most that NVIDIA MPS may give a process; 0: any number.
    std::atomic<std::uint32_t> most_multiprocessors;
    Grant grant;
};

struct Limits {
    std::uint32_t magic;
    std::uint32_t size;  // of this structure
    std::uint32_t gpu_count;
    GpuLimit gpus[kMaxGpus];
};

// Two words that change together (pair.hpp). The version only grows.
struct alignas(16) Pair {
    std::uint64_t version;
    std::uint64_t value;
};

// What the container holds of one GPU, and which slot moved it last (account.hpp).
struct alignas(64) Account {
    Pair last_move;
    std::atomic<std::uint64_t> refusals;  // allocations that the limit refused
    // Contexts that were refused because their process has more multiprocessors than it may have.
    std::atomic<std::uint64_t> refused_contexts;
};

// One process of the container. It is alive while its byte of the file is locked (life.hpp).
struct alignas(64) Slot {
    std::atomic<std::int32_t> pid;  // as the process itself sees it; for display only
    Pair held[kMaxGpus];            // allocation units of each GPU, and since which version
};

// How long a process had work of a kind on a GPU, in wall-clock time.
struct InFlight {
    std::atomic<std::int64_t> total_ns;  // of all owners of the slot, up to since_ns
    std::atomic<std::int64_t> since_ns;  // CLOCK_MONOTONIC; 0: no work now
};

// A process's time on a GPU. Only the process writes it; the arbiter reads it.
struct ProcessTime {
    InFlight in_flight[kWorkKinds];
    std::atomic<std::int64_t> waited_ns;  // for launch permits, the sum over its threads
    std::atomic<std::uint32_t> waiting;   // threads that wait now
    // CLOCK_MONOTONIC: when the guard last ran in the process. While it does not run, no process
    // reports when work ends. That is so if the process is stopped, or if it is dead and its
    // children keep its lock.
    std::atomic<std::int64_t> seen_ns;
};

// How long after the guard last ran a process's work in flight still counts. If this were shorter,
// a tenant could give the GPU a long kernel, stop its process and not pay for it.
inline constexpr std::int64_t kUnseenNs = 5'000'000'000;

// The last busy intervals of a process, from which the arbiter sees which processes' work
// overlapped.
inline constexpr int kLogEntries = 32;  // a power of two

struct BusyIntervalLog {
    struct Entry {
        std::atomic<std::int64_t> start_ns;  // CLOCK_MONOTONIC
        std::atomic<std::uint64_t> what;     // pack_interval()
    };

    std::atomic<std::uint64_t> total;  // entry n is at n % kLogEntries
    Entry entries[kLogEntries];
};

// Memory that a process has exported (shared_memory.hpp).
inline constexpr int kMaxSharedMemory = 1024;

struct alignas(64) SharedMemory {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> state;  // the payer and the amount, in one value
    std::atomic<std::uint64_t> importers[kMaxProcesses / 64];  // one bit for each slot
    // Odd while a descriptor of it may be open. It grows with each descriptor that is given away,
    // and with each use of the entry.
    std::atomic<std::uint64_t> descriptors;
    std::atomic<std::int32_t> file;  // of its descriptors (descriptor_files.hpp)
};

// A file that descriptors of memory belong to. As a rule all of a driver's descriptors share one.
inline constexpr int kMaxDescriptorFiles = 16;

struct DescriptorFile {
    std::atomic<std::uint32_t> state;
    std::atomic<std::uint64_t> device;
    std::atomic<std::uint64_t> inode;
    char path[232];
};

// Contexts of different kinds may take different amounts of a GPU. The kind depends on the flags
// that the context is created with, except for scheduling flags, and on whether it has further
// parameters, such as a part of the GPU's multiprocessors. See context_kind_of() of
// process/context_cost.hpp.
inline constexpr int kContextKinds = 64;

// A cost that is measured once. It may be zero.
struct MeasuredCost {
    std::atomic<AllocationUnits> and_one;  // cost + 1; 0: not measured yet

    [[nodiscard]] bool is_known() const { return and_one.load() != 0; }
    [[nodiscard]] AllocationUnits units() const {
        const AllocationUnits written = and_one.load();
        return written == 0 ? 0 : written - 1;
    }
    // Does nothing if the cost is known.
    void record(AllocationUnits measured) {
        AllocationUnits none = 0;
        and_one.compare_exchange_strong(none, measured + 1);
    }
};

// Keep this order: the agent reads members at these offsets. Padding costs nothing here.
struct Accounts {  // NOLINT(clang-analyzer-optin.performance.Padding)
    std::uint32_t magic;
    std::uint32_t size;                    // of this structure
    std::atomic<std::uint32_t> next_slot;  // where the next process starts to look for a slot
    std::atomic<std::uint32_t> slots_end;  // no slot from here on was ever taken
    Account gpus[kMaxGpus];
    Slot slots[kMaxProcesses];
    ProcessTime times[kMaxProcesses][kMaxGpus];
    BusyIntervalLog logs[kMaxProcesses];
    std::atomic<std::uint32_t> next_shared_memory;  // where to start to look for a free entry
    SharedMemory shared_memory[kMaxSharedMemory];
    DescriptorFile descriptor_files[kMaxDescriptorFiles];
    std::atomic<std::uint32_t> may_have_shared[kMaxProcesses];  // it may be charged or an importer
    MeasuredCost context_costs[kMaxGpus][kContextKinds];        // of the first context of each kind
    // CLOCK_MONOTONIC: when a thread's wait for a launch permit last timed out, and it went on
    // without one.
    std::atomic<std::int64_t> permit_timed_out_ns[kMaxGpus];
    // CLOCK_MONOTONIC: when each process expects to finish the work that it has given a GPU, if
    // that is long (compute/permit/outstanding.hpp). The values of a GPU are adjacent because each
    // request for a launch permit reads them all.
    std::atomic<std::int64_t> expected_end_ns[kMaxGpus][kWorkKinds][kMaxProcesses];
    // The order of launch permits for long work (compute/permit/order.hpp).
    struct Order {
        std::atomic<std::int64_t> level_ns;               // at which a new process begins
        std::atomic<std::int64_t> had_ns[kMaxProcesses];  // the GPU time that each process has had
        // When a waiting process last asked; 0: it does not wait.
        std::atomic<std::int64_t> asked_ns[kMaxProcesses];
    } orders[kMaxGpus][kWorkKinds];
};

// The first slot from which on no slot was ever taken.
inline int slots_end(const Accounts& accounts) {
    const std::uint32_t written = accounts.slots_end.load();
    return written < std::uint32_t{kMaxProcesses} ? static_cast<int>(written) : kMaxProcesses;
}

// The beginning of an accounts file.
struct AccountsHead {
    std::uint32_t magic = kAccountsMagic;
    std::uint32_t size = sizeof(Accounts);
};

inline bool is_of_this_layout(const Accounts& accounts) {
    return accounts.magic == kAccountsMagic && accounts.size == sizeof(Accounts);
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<AllocationUnits>::is_always_lock_free);

}  // namespace tessera::guard
