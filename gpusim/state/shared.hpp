// Memory that processes share: exported virtual memory and IPC handles. Its content lies in the
// sparse file `gpusim/memory`, each entry at its own offset; that it exists, and for whom, is in
// CardsFile::shared.
//
// An exported descriptor is one of `gpusim/memory`. It holds an open-file-description lock on the
// byte <entry index>, which lasts as long as any copy of it, in whatever process or message: that
// keeps the memory when all who knew of it are dead. Where it stands in the file says which entry
// it means. No process-owned (POSIX) lock is ever taken on this file.
#pragma once

#include <cstdint>

#include "gpusim/state/state.hpp"

namespace gpusim {

// Bytes of the card in live entries.
std::uint64_t shared_bytes(const State& state, int card);

// Those that the owner of `slot` made and still holds.
std::uint64_t shared_bytes_of(const State& state, int slot, int card);

// True while anyone holds the entry.
bool is_held(const State& state, int entry);

// To be called when `slot` passes to another process.
void forget_holder(CardsFile& file, int slot);

// The three below want the decision lock.

// Makes an entry of `bytes` zeros that `slot` holds, and returns its index; -1 when all are taken
// or the file cannot grow. `card` may be kNoCard.
int make_shared(const State& state, int slot, std::uint32_t card, std::uint64_t bytes);

// Adds `slot` to the holders. False when the entry `serial` is not there any more.
bool join_shared(const State& state, int slot, int entry, std::uint64_t serial);

// The entry is free once nobody is left.
void leave_shared(const State& state, int slot, int entry);

// A new descriptor that holds `entry`, or -1 with errno.
int export_shared(const State& state, int entry);

struct SharedName {
    int entry = -1;  // -1: the descriptor is not from export_shared
    std::uint64_t serial = 0;
};

SharedName name_of_export(const State& state, int fd);

}  // namespace gpusim
