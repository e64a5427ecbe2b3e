#include "guard/process/process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "guard/base/locked.hpp"
#include "guard/inject/kernel_clock.hpp"
#include "guard/process/state.hpp"
#include "guard/region/limits.hpp"

namespace tessera::guard {
namespace {

constinit std::atomic<Process*> kept = nullptr;
// Used if there is no Process.
constinit std::atomic<bool> has_complained = false;
constinit std::atomic<bool> has_no_room = false;

Process* make_process() {
    void* pages =
        mmap(nullptr, sizeof(Process), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        has_no_room = errno == ENOMEM;
        return nullptr;
    }
    Process* none = nullptr;
    auto* made = static_cast<Process*>(pages);
    if (madvise(pages, sizeof(Process), MADV_WIPEONFORK) == 0 &&
        kept.compare_exchange_strong(none, made))
        return made;
    munmap(pages, sizeof(Process));
    return kept.load();
}

Fault fault_of_slot(ProcessSlotError error) {
    switch (error) {
        case ProcessSlotError::none:
            return {""};
        case ProcessSlotError::no_file:
            return fault_of(errno, {"cannot be opened"});
        case ProcessSlotError::no_room:
            return fault_of(ENOMEM, {});
        // The limits file has this version, so the accounts had it too when they were created.
        case ProcessSlotError::foreign_file:
            return {"was truncated or overwritten"};
        case ProcessSlotError::full:
            return {"has no process slot left: the container runs 1023 processes that use a GPU"};
        case ProcessSlotError::not_kept:
            return {
                "is on a file system that does not keep locks (an overlay?); move guard_folder"};
    }
    return {""};
}

CUresult cannot_begin(std::atomic<bool>& has_complained_before, const char* path,
                      const Fault& fault) {
    complain(has_complained_before, path, fault);
    return kNotGuarded;
}

// The file's inode. Not stat(): a library that is built against a newer libc does not find it in an
// older one.
std::uint64_t number_of_file(const char* path) {
    struct stat about = {};
    return syscall(SYS_newfstatat, AT_FDCWD, path, &about, 0) == 0 ? about.st_ino : 0;
}

// Asks the loader for our path before it takes our lock: a library that is being loaded may call us
// while it holds the loader's lock.
CUresult begin_now(Process& process) {
    char limits_path[kMaxPath];
    char accounts_path[kMaxPath];
    const bool has_place =
        path_of(kLimitsName, limits_path) && path_of(kAccountsName, accounts_path);
    const ReadClock clock = kernel_clock();
    const Locked lock(process.mutex);
    if (process.has_begun.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
    read_clock_by(clock);
    if (!has_place) return cannot_begin(process.has_complained, "the guard's library", kNoPlace);
    std::memcpy(process.accounts_path, accounts_path, sizeof accounts_path);
    process.limits = open_limits(limits_path);
    if (process.limits == nullptr)
        return cannot_begin(process.has_complained, limits_path, fault_of(errno, kOtherLayout));
    const ProcessSlotError error = register_process(process.accounts_path, process.process_slot);
    if (error != ProcessSlotError::none) {
        const Fault fault = fault_of_slot(error);  // before errno changes
        // Each call tries again, and would leave one more mapping.
        close_limits(process.limits);
        process.limits = nullptr;
        return cannot_begin(process.has_complained, process.accounts_path, fault);
    }
    process.region_number = number_of_file(process.accounts_path);
    process.has_begun.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

}  // namespace

Process* process() {
    Process* found = kept.load(std::memory_order_acquire);
    return found != nullptr ? found : make_process();
}

CUresult begin() {
    Process* here = process();
    if (here == nullptr) {
        if (has_no_room) return cannot_begin(has_complained, "the guard", fault_of(ENOMEM, {}));
        return cannot_begin(
            has_complained, "the kernel",
            {"cannot empty memory in a forked child (MADV_WIPEONFORK: Linux 4.14 or later, "
             "not gVisor)",
             "Run this pod on another node, or without a GPU share."});
    }
    if (here->has_begun.load(std::memory_order_acquire)) return CUDA_SUCCESS;
    return begin_now(*here);
}

Pools& pools() {
    return process()->pools;
}

PendingFrees& pending_frees() {
    return process()->pending_frees;
}

SharedUse& shared_use() {
    return process()->shared_use;
}

const ProcessSlot& process_slot() {
    return process()->process_slot;
}

const char* accounts_path() {
    return process()->accounts_path;
}

std::uint64_t region_number() {
    return process()->region_number;
}

Graphs& graphs() {
    return process()->graphs;
}

bool have_graphs_memory() {
    const Process* here = kept.load(std::memory_order_relaxed);
    return here != nullptr && here->graphs.have_memory();
}

PhysicalMemory& physical_memory() {
    return process()->physical_memory;
}

Timing& timing(int gpu) {
    return process()->timing[gpu];
}

ProcessTime& gpu_time(int gpu) {
    const ProcessSlot& process_slot = process()->process_slot;
    return process_slot.accounts->times[process_slot.slot][gpu];
}

OwnLog busy_log() {
    Process& here = *process();
    return {here.process_slot.accounts->logs[here.process_slot.slot], here.log_mutex};
}

const GpuLimit& gpu_limit(int gpu) {
    return process()->limits->gpus[gpu];
}

Contexts& contexts() {
    return process()->contexts;
}

Table<ContextLimits>& context_limits() {
    return process()->context_limits;
}

}  // namespace tessera::guard
