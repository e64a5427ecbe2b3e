// A process that is stopped by SIGSTOP, for tests of what others then get of a GPU.
#pragma once

namespace gpusim {

// Stops this process, all threads of it, at a moment at which it holds no lock of the simulated
// driver but that of its slot. A thread may hold one at any moment, and other processes would wait
// for it as long as this one is stopped. Returns after SIGCONT. Exits the process with an error if
// it has no simulated driver.
void stop_without_locks();

}  // namespace gpusim
