// The driver's own thread: it moves work on where nobody calls the driver, and calls the program's
// functions that stand in streams. It is started when there is something for it to do; where a
// program has no threads (glibc before 2.34, without libpthread), whoever calls the driver does it.
// All functions want a Session.
#pragma once

#include <cstdint>

namespace gpusim {

struct Operation;

// An operation waits for another to be done.
void need_runner();
bool has_runner();
// The function of a booked host operation is to be called.
void call_host(Operation& operation);
// Calls one, without the driver's mutex. False where there is none.
bool call_next_host();

}  // namespace gpusim
