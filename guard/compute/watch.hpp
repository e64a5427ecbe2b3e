// A thread of the guard for each GPU, which learns that work has ended when no thread waits for it
// in a way that the guard sees. Without this thread (a process that cannot have threads), such work
// counts until the next wait.
#pragma once

namespace tessera::guard {

// Work is in flight on the GPU. Starts the thread if there is none; otherwise makes no system call.
void need_watch(int gpu);

}  // namespace tessera::guard
