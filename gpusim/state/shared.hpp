// Memory that processes share: exported virtual memory and IPC handles. Its content is in the
// sparse file `gpusim/memory`, each entry at its own offset. GpusFile::shared says which entries
// exist and which processes hold them.
//
// An exported descriptor is one of `gpusim/memory`. It holds an open-file-description lock on the
// byte <entry index>, which lasts as long as any copy of the descriptor, in any process or message.
// That keeps the memory when all processes that had it are dead. The descriptor's file position
// says which entry it means. No process-owned (POSIX) lock is ever taken on this file.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

// Bytes of the GPU in live entries.
std::uint64_t shared_bytes(const State& state, int gpu);

// Entries that the owner of `slot` made and still holds.
std::uint64_t shared_bytes_of(const State& state, int slot, int gpu);

// Live entries that the owner of `slot` made, also those that only others hold.
std::uint64_t shared_bytes_made_by(const State& state, int slot, int gpu);

// True while any process or descriptor holds the entry.
bool is_held(const State& state, int entry);

// Call this when `slot` passes to another process.
void forget_holder(GpusFile& file, int slot);

// The three functions below require the decision lock.

// Makes an entry of `bytes` zeros that `slot` holds, and returns its index; -1 if all are taken or
// the file cannot grow. `gpu` may be kNoGpu.
int make_shared(const State& state, int slot, std::uint32_t gpu, std::uint64_t bytes);

// Adds `slot` to the holders. False if the entry `serial` does not exist any more.
bool join_shared(const State& state, int slot, int entry, std::uint64_t serial);

// Removes `slot` from the holders. The entry is free when no holder is left.
void leave_shared(const State& state, int slot, int entry);

// A new descriptor that holds `entry`, or -1 with errno.
int export_shared(const State& state, int entry);

struct SharedName {
    int entry = -1;  // -1: the descriptor is not from export_shared
    std::uint64_t serial = 0;
};

SharedName name_of_export(const State& state, int fd);

}  // namespace gpusim
