// Which processes of the container are alive, according to the kernel. A process locks one byte of
// the accounts file through the same open file that it has mapped, and then closes the descriptor.
// The mapping keeps the lock: no close() in the program can drop it. Exec and any death end it at
// once, in any pid namespace. A forked child inherits the mapping, so what its parent held counts
// until both have ended. That is right: the child has the driver's descriptors too, and the driver
// keeps the memory while it does.
//
// Needs open-file-description locks (Linux 3.15).
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// A process's own part of the accounts.
struct ProcessSlot {
    Accounts* accounts = nullptr;
    int slot = -1;
};

// no_file: see errno. no_room: the process has no address space for the mapping. not_kept: this
// file system drops the lock when the descriptor is closed (overlayfs does).
enum class ProcessSlotError { none, no_file, no_room, foreign_file, full, not_kept };

// Maps the file and takes a slot that no live process has, cleared of what its last owner held. The
// mapping stays until the process ends.
ProcessSlotError register_process(const char* accounts_path, ProcessSlot& process_slot);

// Whether a live process has the slot. `fd` is any descriptor of the accounts file, also a
// read-only one, through which nothing has been locked.
bool is_alive(int fd, int slot);
// The same for any slot, also in accounts of another release's layout. True if the kernel does not
// say.
bool is_anyone_in(int fd);

// Ends the use of accounts in which no process is alive: from now on register_process() answers
// foreign_file. `fd` may write, and was opened for this call. False if a process is alive, or if
// the file cannot be written; then nothing is changed.
bool close_accounts(int fd);

// Releases what dead processes held, and what only descriptors held that are closed now. `fd` is a
// descriptor of the accounts file, opened for this call. Safe to run in parallel with any other
// reaper. Returns how many allocation units dead processes held, of all GPUs.
AllocationUnits reap_dead(Accounts& accounts, int fd);

}  // namespace tessera::guard
