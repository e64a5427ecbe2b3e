// Which of a container's processes gets the next launch permit, if there is only one. The guard
// compares the GPU time that each has had, so that a process with many threads or long kernels does
// not block the others. As in WF2Q+ (Bennett and Zhang, IEEE/ACM Transactions on Networking 1997),
// a new process begins at a level. The level grows by what all working processes have had, in equal
// parts. It is never below the least of them. Unlike there, what counts is the time that was really
// used, not the time that a work item will take. Short work need not wait, and no process waits for
// another one that does not ask. Any thread, with the mutex of the GPU's timing().
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Records the GPU time that this process has had. Call it when a busy interval ends, and before
// is_permitted_to_another().
void note_had(int gpu, WorkKind kind, std::int64_t now);
// Another process waits that has had less, including its outstanding work.
bool is_permitted_to_another(int gpu, WorkKind kind, std::int64_t now);
// This process waits: since now, or still.
void enqueue(int gpu, WorkKind kind, std::int64_t now);
// This process has its permit, or no longer waits.
void dequeue(int gpu, WorkKind kind);

}  // namespace tessera::guard
