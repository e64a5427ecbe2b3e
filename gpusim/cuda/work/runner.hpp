// The driver's own thread. It moves work on while no thread calls the driver, and calls the
// program's host functions in streams. It is started when there is something for it to do. If a
// program has no threads (glibc before 2.34, without libpthread), the threads that call the driver
// do this. All functions require a Session.
#pragma once

#include <cstdint>

namespace gpusim {

struct Operation;

// Call this if an operation waits for another to be done.
void need_runner();
bool has_runner();
// Queues the function of a booked host operation to be called.
void call_host(Operation& operation);
// Calls one, without the driver's mutex. False if there is none.
bool call_next_host();

}  // namespace gpusim
