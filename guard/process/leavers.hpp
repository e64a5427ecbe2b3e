// Memory of cuMemAlloc that a program has freed in the order of a stream (cuMemFreeAsync): the card
// has it until it is the stream's turn, and so long it counts. An event behind the free tells.
//
// Any thread. All want begin() to have succeeded.
#pragma once

#include <pthread.h>

#include <atomic>

#include "guard/process/holdings.hpp"

namespace tessera::guard {

struct Leaver {
    Holding holding;
    CUevent event;
};

inline std::uint64_t key_of(const Leaver& leaver) {
    return leaver.holding.address;
}

// Zero at first, and again in a forked child.
struct Leavers {
    pthread_mutex_t mutex;
    std::atomic<bool> has_any;
    Table<Leaver> all;
};

// What was noted, and is freed at the stream's turn. Waits for that only where no event can be had.
void note_leaver(const Holding& holding, CUstream stream);
// Puts back what has had its turn; whether there was any.
bool look_at_leavers();
// Puts back all that ended with a context.
void forget_leavers_of(CUcontext context);
// They would end with another context from now on.
void pass_on_leavers_of(CUcontext from, CUcontext to);

}  // namespace tessera::guard
