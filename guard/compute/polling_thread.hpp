// A thread of the guard for each GPU. It looks every 2 ms whether the streams' work has ended;
// every 50 ms after 0.2 s without work. That is needed if a program learns of the end without a
// call that the guard hooks, such as by reading mapped memory. In a process that can have no
// threads, such work counts until the program's next wait.
#pragma once

namespace tessera::guard {

// Call this when work begins on `gpu`, an index of the container's GPUs. Starts the thread if this
// process has none for the GPU; if that fails, the next call tries again. Otherwise it makes no
// system call. Any thread; the driver has begun.
void ensure_polling_thread(int gpu);

}  // namespace tessera::guard
