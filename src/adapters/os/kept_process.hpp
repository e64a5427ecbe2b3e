// Keeps a daemon running whose own children must outlive it: a small parent starts it again when it
// was killed or failed, and becomes the parent of what it leaves.
#pragma once

#include <functional>
#include <set>

namespace tessera {

// Runs `body` in a child process, and again, a second after it ended by a signal or with a status
// that is not among `final`. Returns the exit status of the last one. SIGTERM and SIGINT are passed
// on, and then no other child starts. The
// child is killed with its parent. Call it before any thread starts.
int keep_process(const std::function<int()>& body, const std::set<int>& final);

}  // namespace tessera
