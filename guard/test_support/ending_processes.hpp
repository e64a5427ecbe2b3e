// Processes of a container that start, run one kernel, and end.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <stdexcept>

#include "guard/test_support/shared_gpu.hpp"

namespace tessera::guard {

// The GPU time of processes that have ended. Each adds its own before it ends.
class Tally {
  public:
    Tally()
        : ns_(static_cast<std::atomic<std::int64_t>*>(mmap(
              nullptr, sizeof *ns_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (ns_ == MAP_FAILED) throw std::runtime_error("mmap");
    }
    ~Tally() { munmap(ns_, sizeof *ns_); }
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;

    [[nodiscard]] std::atomic<std::int64_t>& ns() const { return *ns_; }

  private:
    std::atomic<std::int64_t>* ns_;
};

// Runs one kernel, in a process of its own, and ends that process.
[[noreturn]] inline void run_one(const GuardedContainer& container, std::uint64_t ns,
                                 const Tally& tally) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const gpusim::Worker worker(container.facade());
    worker.launch(ns);
    if (worker.wait() == CUDA_SUCCESS) tally.ns() += static_cast<std::int64_t>(ns);
    _exit(0);
}

// Until it is killed, keeps `processes` processes of a container running, each of which runs one
// kernel.
inline std::unique_ptr<gpusim::ChildProcess> start_ending(const GuardedContainer& container,
                                                          int processes, std::uint64_t ns,
                                                          const Tally& tally) {
    return std::make_unique<gpusim::ChildProcess>(
        [&container, &tally, processes, ns](gpusim::Wire&) {
            for (int alive = 0;;) {
                for (; alive < processes; alive++)
                    if (fork() == 0) run_one(container, ns, tally);
                if (wait(nullptr) > 0) alive--;
            }
        });
}

}  // namespace tessera::guard
