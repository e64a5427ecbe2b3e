// Which processes of the container live, as the kernel knows it: a process locks one byte of the
// accounts file through the very open file that it has mapped, and then closes the descriptor. The
// mapping keeps the lock: no close() of the program's, however thorough, drops it, and exec or any
// death ends it at once, in any pid namespace. A forked child inherits the mapping, so what its
// parent held counts until both have ended: the child has the driver's descriptors too, and so long
// the driver keeps the memory.
//
// Needs open-file-description locks (Linux 3.15).
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// A process's own part of the accounts.
struct Seat {
    Accounts* accounts = nullptr;
    int slot = -1;
};

// no_file: errno says why; no_room: there is none in the process for the mapping; not_kept: this
// file system drops the lock when the descriptor is closed (overlayfs does).
enum class SeatError { none, no_file, no_room, foreign_file, full, not_kept };

// Maps the file and takes a slot that nobody lives in, cleared of what its last owner held. The
// mapping stays until the process ends.
SeatError take_seat(const char* accounts_path, Seat& seat);

// Whether a process lives in the slot. `fd` is any descriptor of the accounts file, also a
// read-only one, through which nobody has locked anything.
bool is_lived_in(int fd, int slot);
// The same of any slot, also in accounts of another release's layout. True where the kernel does
// not say.
bool is_anyone_in(int fd);

// Gives back what processes held that are no more, and what only descriptors held that are closed
// now. `fd` is a descriptor of the accounts file, opened for this. Safe beside any other reaper.
// How many granules of the former came back, of all cards.
Granules reap_dead(Accounts& accounts, int fd);

}  // namespace tessera::guard
