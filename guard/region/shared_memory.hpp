// Memory that one process of the container has exported and others of it may have imported: the
// card has it until the last of them lets go, whoever made it. So it is charged to one of them as
// long as any has it: to its maker while that has it or lives, and then to one who imported it.
//
// A descriptor has it as an importer has, who never says that he lets go: what it alone holds is
// charged to the maker while he lives, then to nobody's slot (kNobody), until somebody asks whether
// it is open still and finds that it is not (descriptor_files.hpp).
//
// Every state that can be seen is whole, as with the accounts, however many die over it: memory
// that somebody has is always charged, and nothing is taken off who holds other memory. Who is
// killed on the way, or dies while it is charged, may leave memory charged that is gone: until the
// process that is charged for it ends, and no longer; what is charged to nobody, until the next
// give_closed_back().
//
// Any thread of any process of the container.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// What is to be known of one, under a name that whoever imports it finds again; not 0.
struct SharedName {
    std::uint64_t key;
    int card;
    Granules granules;
    int file = 0;  // file_of() a descriptor that has the name; 0: there is none
};

// -1: there are as many as there may be. The slot is charged already, and goes on being.
int add_shared(Accounts& accounts, const SharedName& name, int payer);
// One whose maker has it before one that he has let go of: names may come again. -1 where there is
// none.
int find_shared(const Accounts& accounts, std::uint64_t key);

// Whether somebody may have what it is of, and is charged for it.
bool is_there(const SharedMemory& entry);
// Whether it is of anything, also of what is being added or taken off.
bool is_in_use(const SharedMemory& entry);

// Whether there is one of that name, or was one among the last.
bool was_shared(const Accounts& accounts, std::uint64_t key);

// The process in the slot is about to import it. False where it is not, or no more, the memory of
// that name.
bool join_shared(Accounts& accounts, int index, std::uint64_t key, int slot);
// It has let go of it. Whoever was charged for it is not any more, if that was the last.
void leave_shared(Accounts& accounts, int index, int slot);

// Its maker has let go of it, and is not to take its charge back: that is done here, at once where
// nobody has imported it.
void end_shared(Accounts& accounts, int index);

// One more descriptor of it, of the same file, has the name now. Whoever says so has it himself.
void share_again(Accounts& accounts, int index);

// Takes off what nobody has any more but descriptors that are closed: of one, and of all.
void give_closed_back(Accounts& accounts, int index);
void give_closed_back(Accounts& accounts);
// What that would take off each slot of a card, for who may not write: added to zeros.
void find_closed(const Accounts& accounts, int card, Granules (&closed)[kMaxProcesses]);

// The process in the slot is dead: what it imported it has not, and what it is charged for is
// charged to another who has it. To be called before the slot is cleared.
void forget_shared_of(Accounts& accounts, int slot);
// Whether there may be anything to be forgotten.
bool may_have_shared(const Accounts& accounts, int slot);

}  // namespace tessera::guard
