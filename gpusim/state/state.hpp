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
    not_permitted,  // it is there, but not for the access asked for
    foreign         // the file is not ours, or of another layout version
};

inline constexpr int kMaxPath = 4096;

// The state directory of a library: $GPUSIM_DIR where set, else `gpusim/` beside the loaded object
// that contains `symbol`. False when the path does not fit.
bool find_directory(const void* symbol, char (&directory)[kMaxPath]);

struct State {
    CardsFile* file = nullptr;  // mapped; writing to it without Access::read_write is a fault
    int locks_fd = -1;          // see locks.hpp: never closed
    int memory_fd = -1;         // see shared.hpp
    char directory[kMaxPath] = {};
};

// Opens the state in `directory`. `state` may have been open before: the map is replaced, and the
// descriptor of `locks` is kept if it still is the same file. On failure `state` is as before.
OpenResult open_state(State& state, const char* directory, Access access);

// Unmaps and closes what open_state opened. Not in a process that may hold a lock of `locks`:
// closing any descriptor of that file drops them all (locks.hpp).
void close_state(State& state);

// True where the card's marker file `dev/nvidia<minor>` is there, as /dev/nvidia<minor> would be.
bool has_marker(const State& state, const Card& card);

// The pid of the process that owns `slot` (see lock_holder).
pid_t slot_owner(const State& state, int slot);

// Bytes of the card that are in use, contexts included, the driver's reserve not.
// Exact under the decision lock; without it, a sum over moments that differ by microseconds.
std::uint64_t used_bytes(const State& state, int card);

// The part of it that the owner of `slot` answers for: its own, and what it made for sharing. The
// sum over all slots may be less than used_bytes, for shared memory can outlive its maker.
std::uint64_t slot_bytes(const State& state, int slot, int card);

// Takes a free slot for this process and returns its index, or -1 when all are taken. To be called
// under the decision lock. The slot is this process's until it dies.
int claim_slot(State& state);

}  // namespace gpusim
