// One process's view of the shared state (layout.hpp): finding and mapping it, and the sums over
// slots. Linked into libcuda.so.1, libnvidia-ml.so.1 and gpusimctl; needs nothing but libc.
#pragma once

#include <cstdint>

#include "gpusim/state/layout.hpp"
#include "gpusim/state/locks.hpp"

namespace gpusim {

enum class Access { read_only, read_write };

enum class OpenResult {
    ok,
    absent,         // there is no state directory: the driver is not installed
    not_permitted,  // it exists, but the requested access is not allowed
    foreign         // the file is not ours, or of another layout version
};

inline constexpr int kMaxPath = 4096;

// The state directory of a library: $GPUSIM_DIR if set, else `gpusim/` in the directory of the
// loaded object that contains `symbol`. False if the path does not fit.
bool find_directory(const void* symbol, char (&directory)[kMaxPath]);

struct State {
    GpusFile* file = nullptr;  // mapped; a write without Access::read_write faults
    int locks_fd = -1;         // see locks.hpp: never closed
    int memory_fd = -1;        // see shared.hpp
    char directory[kMaxPath] = {};
};

// Opens the state in `directory`. `state` may have been open before: the map is replaced, and the
// descriptor of `locks` is kept if it still is the same file. On failure `state` is unchanged.
OpenResult open_state(State& state, const char* directory, Access access);

// Changes one GPU in the file of a state that may be open for reading only. It touches no lock.
// Anything but OpenResult::ok: nothing was changed.
OpenResult change_gpu(const State& state, int gpu, void (*change)(Gpu& gpu, unsigned value),
                      unsigned value);

// Unmaps and closes what open_state opened. Do not call it in a process that may hold a lock of
// `locks`: closing any descriptor of that file drops them all (locks.hpp).
void close_state(State& state);

// Whether the GPU's marker file `dev/nvidia<minor>` exists, as /dev/nvidia<minor> would.
bool has_marker(const State& state, const Gpu& gpu);

// The pid of the process that owns `slot` (see lock_holder).
pid_t slot_owner(const State& state, int slot);

// Bytes of the GPU that are in use, with contexts and without the driver's reserve. Exact under the
// decision lock; without it, a sum over moments that differ by microseconds.
std::uint64_t used_bytes(const State& state, int gpu);

// The part of it that belongs to the owner of `slot`: its own, and the shared memory that it made.
// The sum over all slots may be less than used_bytes, because shared memory can outlive its maker.
std::uint64_t slot_bytes(const State& state, int slot, int gpu);

// Takes a free slot for this process and returns its index. -1 if all are taken, or if the
// process's cgroup needs an entry and none is free. Call it under the decision lock. The process
// keeps the slot until it dies.
int claim_slot(State& state);

}  // namespace gpusim
