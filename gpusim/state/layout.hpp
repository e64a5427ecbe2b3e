// The binary state that all processes of one simulated node share: the file `gpusim/gpus`.
//
// Invariants:
//
// 1. `gpus` (except its atomics) never changes after `gpusimctl create` renamed the root into
//    place. Nor does the path of a cgroup from `has_path` to the end of its entry.
// 2. A slot belongs to the process that holds the write lock on byte <slot index> of
//    `gpusim/locks`. Without a holder a slot's content does not count.
// 3. Only the owner of a slot raises or lowers its numbers, each with one aligned store, so that a
//    kill at any instant leaves a valid file. It raises them under the decision lock.
// 4. Slots change owners, and events are written, under the decision lock.
// 5. An engine's moments and turns and a slot's bookings change under the engine's lock
//    (timeline.hpp, slices.hpp). A moment or a turn counts from the one store that makes it the
//    newest.
// 6. Memory that processes can share belongs to no slot: it has an entry of `shared`. The entry is
//    live while the owner of a slot in `holders` is alive or a descriptor holds its byte of
//    `gpusim/memory` (shared.hpp). A dead entry does not count. Entries change under the decision
//    lock.
// 7. Cgroups and their limits change under the decision lock (cgroups.hpp).
//
// Thread rule: every atomic may be read by any thread of any process without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpusim {

inline constexpr char kMagic[8] = {'g', 'p', 'u', 's', 'i', 'm', '\n', '\0'};
inline constexpr std::uint32_t kLayoutVersion = 13;

inline constexpr int kMaxGpus = 64;
inline constexpr int kMaxSlots = 1024;
inline constexpr int kMaxEvents = 256;
inline constexpr int kMaxShared = 2048;
inline constexpr int kMaxCgroups = 512;
inline constexpr int kMaxCgroupPath = 512;

inline constexpr int kMoments = 4096;
// The number of the oldest of that many moments or turns that is still there. The place after the
// newest one may be half written by a process that was killed.
constexpr std::uint64_t oldest_of(std::uint64_t total) {
    return total >= kMoments ? total - kMoments + 2 : 1;
}

inline constexpr std::uint32_t kNone = 0xffffffff;  // for switches and links

inline constexpr std::uint64_t kAllocationUnitBytes = std::uint64_t{2} << 20;

// The versions that the simulated driver reports.
inline constexpr char kDriverVersion[] = "570.124.06";
inline constexpr char kNvmlVersion[] = "12.570.124.06";
inline constexpr int kCudaVersion = 12080;

// How the processes of a GPU share its time: by turns, or side by side, as under MPS.
enum class Sharing : std::uint32_t { turns, side_by_side };

// What the next kernel on a GPU does instead of its work.
enum class KernelFault : std::uint32_t { none, illegal_address, uncorrectable_ecc, hang };

// What NVML does not report for a GPU: bits of Gpu::hidden.
enum Hidden : std::uint32_t {
    kHidesMemory = 1,          // its size, as for a GPU that shares the host's memory
    kHidesReserve = 2,         // the reserve, separate from used memory
    kHidesMinor = 4,           // its number in /dev
    kHidesName = 8,            // its model
    kHidesTopology = 16,       // links and the NUMA node
    kHidesSizeAlone = 32,      // only its size: it is reported as 0, and the reserve correctly
    kFailsMemory = 64,         // the query of its memory fails, and no other query does
    kHidesProcessMemory = 128  // what each process uses
};

// Repairs of the GPU's memory: whether one waits for a reset, or whether one was impossible.
enum class Rows : std::uint32_t { good, pending, failed };

struct Gpu {
    char uuid[48];   // "GPU-" and 36 characters
    char model[96];  // as nvmlDeviceGetName gives it
    std::uint64_t memory_bytes;
    std::uint64_t reserved_bytes;  // the driver's own; no process can get it
    std::uint64_t context_overhead_bytes;
    std::uint64_t graph_overhead_bytes;  // for each executable graph
    std::int64_t time_slice_ns;          // of a process that has its turn; 0: infinitely short
    std::int64_t switch_ns;              // between the turns of two processes
    std::uint32_t minor;
    std::uint32_t pci_domain;
    std::uint32_t pci_bus;
    std::uint32_t pci_device;
    std::int32_t compute_major;
    std::int32_t compute_minor;
    std::uint32_t numa;         // the NUMA node of its slot
    std::uint32_t pcie_switch;  // GPUs with the same number are behind one; kNone
    std::uint32_t nvlink;       // GPUs with the same number are linked, each with each; or kNone
    std::uint32_t multiprocessors;
    std::uint32_t event_clock_fast_ppm;  // how fast the event clock is, compared with the host's
    std::atomic<std::uint32_t> lost;     // 1 from `gpusimctl lose` to `recover`
    std::atomic<std::uint32_t> recovery_action;  // an nvmlDeviceGpuRecoveryAction_t
    std::atomic<std::uint32_t> nvml_error;    // what NVML answers for the GPU; 0: the true values
    std::atomic<std::uint32_t> hidden;        // bits of Hidden
    std::atomic<std::uint32_t> mig_mode;      // 1: on
    std::atomic<std::uint32_t> compute_mode;  // an nvmlComputeMode_t
    std::atomic<Rows> remapped_rows;
    std::atomic<std::uint32_t> retired_pages;       // 1: some will be retired at the next reset
    std::atomic<std::uint32_t> uncorrected_errors;  // of its memory, since the driver was loaded
    std::atomic<Sharing> sharing;
    std::atomic<KernelFault> next_kernel;
    // This many allocations from now, one fails although there is room; 0: none.
    std::atomic<std::uint64_t> failing_allocation;
};

enum class Engine { compute, copies };
inline constexpr int kEngines = 2;

// How far an engine had come with each process's work at a time: the picoseconds of work that a
// process would have got that always had work. Between two moments this grows evenly.
struct Moment {
    std::atomic<std::int64_t> time_ns;  // CLOCK_MONOTONIC
    std::atomic<std::int64_t> work_ps;
};

// What an engine does for a slot, in terms of Moment::work_ps.
struct Booking {
    std::atomic<std::int64_t> since_ps;   // since when it has had work
    std::atomic<std::int64_t> until_ps;   // until when it will have work
    std::atomic<std::int64_t> before_ps;  // what it had done in total before, of the whole engine
    std::atomic<std::uint32_t> demand;    // thousandths of the engine that its work fills
};

struct EngineState {
    std::atomic<std::uint64_t> moments_total;  // moment n is at n % kMoments; 0: none yet
    Moment moments[kMoments];
    Booking bookings[kMaxSlots];
};

// A turn that a process had on a GPU with time slices (slices.hpp).
struct PastTurn {
    std::atomic<std::int64_t> from_ns;   // CLOCK_MONOTONIC; the switch begins
    std::atomic<std::int64_t> start_ns;  // the process begins
    std::atomic<std::int64_t> end_ns;
    std::atomic<std::int64_t> before_ps;  // in terms of TurnBooking
    std::atomic<std::int64_t> after_ps;
    std::atomic<std::int64_t> slot;
};

// The work of a slot on a GPU with time slices, in ps since the slot was first taken.
struct TurnBooking {
    std::atomic<std::int64_t> since_ns;   // CLOCK_MONOTONIC; since when it has had work
    std::atomic<std::int64_t> until_ps;   // all that was booked
    std::atomic<std::int64_t> done_ps;    // by its turns that are over
    std::atomic<std::int64_t> before_ps;  // by earlier owners
};

struct SlicedEngine {
    std::atomic<std::uint64_t> turns_total;  // turn n is at n % kMoments; 0: none yet
    std::atomic<std::int64_t> answered_ns;   // what happened until then has been reported
    PastTurn turns[kMoments];
    TurnBooking bookings[kMaxSlots];
};

struct Event {
    std::atomic<std::uint64_t> number;  // 1, 2, ...; 0 while the entry is being written
    std::atomic<std::uint64_t> type;    // an nvmlEventType bit
    std::atomic<std::uint64_t> data;
    std::atomic<std::uint64_t> gpu;  // index into `gpus`
};

struct Slot {
    std::atomic<std::uint32_t> in_use;  // 0: never a live owner, so that readers need not check
    std::atomic<std::uint32_t> is_mps_server;
    // The MPS server that the owner is, or is a client of: its number; 0: neither.
    std::atomic<std::uint64_t> mps_server;
    // 1: this client of MPS was ended. Its MPS server writes it, under the decision lock.
    std::atomic<std::uint32_t> is_ended;
    // The owner's entry of `cgroups`, or kNoCgroup.
    std::atomic<std::uint32_t> cgroup;
    std::atomic<std::uint32_t> contexts[kMaxGpus];
    std::atomic<std::uint64_t>
        bytes[kMaxGpus];  // whole allocation units, context overhead included
};

inline constexpr std::uint32_t kNoGpu = 0xffffffff;  // host memory
inline constexpr std::uint32_t kNoSlot = 0xffffffff;
inline constexpr std::uint32_t kNoCgroup = 0xffffffff;

// Memory that more than one process can hold, counted once.
struct SharedMemory {
    std::atomic<std::uint64_t> bytes;   // whole allocation units; 0: the entry is free
    std::atomic<std::uint64_t> serial;  // never given twice
    std::atomic<std::uint64_t> offset;  // position of its content in `gpusim/memory`
    std::atomic<std::uint32_t> gpu;
    std::atomic<std::uint32_t> creator;  // the slot that made it; kNoSlot when its owner is gone
    std::atomic<std::uint32_t> is_exported;              // descriptors may hold it
    std::atomic<std::uint32_t> cgroup;                   // of its creator; kNoCgroup
    std::atomic<std::uint64_t> holders[kMaxSlots / 64];  // one bit per slot
};

// A cgroup for which the driver counts memory.
struct Cgroup {
    std::atomic<std::uint32_t> in_use;
    std::atomic<std::uint32_t> parent;  // its entry; kNoCgroup: none, or not known yet
    std::atomic<std::uint32_t> has_path;
    std::uint32_t unused;
    // Of its directory: its identity. inode 0: not known.
    std::atomic<std::uint64_t> device;
    std::atomic<std::uint64_t> inode;
    char path[kMaxCgroupPath];                        // outside of all cgroup namespaces
    std::atomic<std::uint64_t> soft_bytes[kMaxGpus];  // without what is below it
    std::atomic<std::uint64_t> left_bytes[kMaxGpus];  // of cgroups below it that were removed
    std::atomic<std::uint64_t> hard_bytes[kMaxGpus];  // kNoMemoryLimit
};

inline constexpr std::uint64_t kNoMemoryLimit = ~std::uint64_t{0};

// How the driver enforces memory limits of cgroups: not at all, by its own accounts, or by the
// kernel's controller `dmem`.
enum class MemoryLimits : std::uint32_t { off, misc, dmem };

// The kind of NVML on this node: `old` cannot report what a faulty GPU needs, `dead` fails every
// call.
enum class NvmlKind : std::uint32_t { current, old, dead };

struct GpusFile {
    char magic[8];
    std::uint32_t version;
    std::uint32_t gpu_count;
    std::uint64_t id;  // random: no other file has it
    std::atomic<NvmlKind> nvml_kind;
    std::atomic<std::uint32_t> driver_loads;  // an NVML from before the last load fails
    std::atomic<MemoryLimits> memory_limits;
    std::uint32_t unused;
    Gpu gpus[kMaxGpus];
    std::atomic<std::uint32_t> event_bell;         // futex: changes with every event
    std::atomic<std::uint64_t> events_total;       // number of the newest event
    Event events[kMaxEvents];                      // event n is at n % kMaxEvents
    std::atomic<std::uint64_t> mps_servers_total;  // the number of the newest MPS server
    std::atomic<std::int32_t> slots_end;           // no slot from here on was ever taken
    Slot slots[kMaxSlots];
    std::atomic<std::uint64_t> shared_total;  // serial of the newest entry
    std::atomic<std::int32_t> shared_end;     // no entry from here on was ever taken
    SharedMemory shared[kMaxShared];
    Cgroup cgroups[kMaxCgroups];
    EngineState engines[kMaxGpus][kEngines];
    SlicedEngine sliced[kMaxGpus];  // for kernels
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint64_t>) == 8);
static_assert(sizeof(Gpu) == 288);
static_assert(offsetof(GpusFile, slots) % 8 == 0);

inline std::uint64_t capacity_bytes(const Gpu& gpu) {
    return gpu.memory_bytes - gpu.reserved_bytes;
}

}  // namespace gpusim
