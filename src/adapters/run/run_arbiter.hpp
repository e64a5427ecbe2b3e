// Divides the GPUs' time among the runs of a machine. One process of each user does it for that
// user's runs, with all runs in the sums; if it ends, another one continues within a second.
#pragma once

#include <filesystem>
#include <thread>

#include "adapters/os/system_clock.hpp"
#include "adapters/run/run_folder.hpp"

namespace tessera {

class RunArbiter {
  public:
    // Starts a thread, which ends with this object.
    explicit RunArbiter(const RunFolder& folder);

  private:
    void run(const std::stop_token& stop);

    const RunFolder folder_;
    SystemClock clock_;
    std::jthread thread_;
};

}  // namespace tessera
