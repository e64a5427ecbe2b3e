// Memory that one process of the container has exported and other processes of it may have
// imported. The GPU keeps it until the last of them releases it, also if the maker has released it
// before. So one of them is charged while any of them has it: first the maker, while it has the
// memory or is alive, and then a process that imported it.
//
// A descriptor holds the memory as an importer does, but never reports that it is closed. Memory
// that only a descriptor holds is charged to the maker while the maker is alive, and then to
// kOrphanSlot. That ends when a process checks whether the descriptor is still open and finds it
// closed (descriptor_files.hpp).
//
// As with the accounts, every visible state is consistent, whichever processes die on the way.
// Memory that any process has is always charged, and nothing is subtracted from a process that
// holds other memory. A process that is killed in the middle, or that dies while it is charged, may
// leave memory charged that is gone. Such a charge lasts until the charged process ends; a charge
// of kOrphanSlot lasts until the next give_closed_back().
//
// Any thread of any process of the container may call these functions.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// One exported memory, under a name that every importer can find again. `key` is not 0.
struct SharedName {
    std::uint64_t key;
    int gpu;
    AllocationUnits units;
    int file = 0;  // file_of() a descriptor that has the name; 0: none
};

// Returns -1 if all entries are in use. The slot is charged already, and stays charged.
int add_shared(Accounts& accounts, const SharedName& name, int payer);
// Prefers an entry whose maker still has it over one whose maker has released it, because names may
// be used again. -1 if there is none.
int find_shared(const Accounts& accounts, std::uint64_t key);

// Whether a process may have the entry's memory and is charged for it.
bool is_there(const SharedMemory& entry);
// Whether the entry is used at all, including one that is being added or removed.
bool is_in_use(const SharedMemory& entry);

// Whether there is an entry with that name, or a recent one that was freed.
bool was_shared(const Accounts& accounts, std::uint64_t key);

// The process in the slot is about to import the memory. Returns false if the entry does not, or no
// longer, have that key.
bool join_shared(Accounts& accounts, int index, std::uint64_t key, int slot);
// The process has released the memory. If it was the last, the charge is removed from its payer.
void leave_shared(Accounts& accounts, int index, int slot);

// The maker has released the memory, and must not remove the charge itself. This function does so,
// at once if no process has imported the memory.
void end_shared(Accounts& accounts, int index);

// The memory has one more descriptor with the name, of the same file. The caller has the memory
// itself.
void share_again(Accounts& accounts, int index);

// Removes the charge of memory that only closed descriptors had: of one entry, and of all.
void give_closed_back(Accounts& accounts, int index);
void give_closed_back(Accounts& accounts);
// For callers that may not write: what that would subtract from each slot of a GPU. `closed` starts
// as zeros.
void find_closed(const Accounts& accounts, int gpu, AllocationUnits (&closed)[kMaxProcesses]);

// The process in the slot is dead. This drops its imports, and passes what it is charged for to
// another process that has the memory. Call it before the slot is cleared.
void forget_shared_of(Accounts& accounts, int slot);
// Whether the slot may have anything to forget.
bool may_have_shared(const Accounts& accounts, int slot);

}  // namespace tessera::guard
