// The control daemons of a node: one thread and one supervisor for each GPU.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <thread>

#include "adapters/mps/mps_folder.hpp"
#include "adapters/mps/vendor_control_daemon.hpp"
#include "ports/clock.hpp"
#include "ports/mps/compute_modes.hpp"

namespace tessera {

class MpsNode {
  public:
    // A driver that does not answer for one GPU must not delay the others, so each has its own.
    using NewModes = std::function<std::unique_ptr<ComputeModes>()>;

    // The references outlive this.
    MpsNode(MpsFolder& folder, VendorMpsPrograms programs, NewModes new_modes, Clock& clock)
        : folder_(folder),
          programs_(std::move(programs)),
          new_modes_(std::move(new_modes)),
          clock_(clock) {}

    // Supervises until `stop`, and then ends the daemons, whose clients get an error from the
    // driver. That takes up to two minutes if they do not answer.
    void run(const std::stop_token& stop);

  private:
    struct Supervised {
        std::atomic<bool> has_ended = false;
        std::jthread thread;
    };

    void supervise(const GpuUuid& gpu, const std::stop_token& stop);

    MpsFolder& folder_;
    const VendorMpsPrograms programs_;
    const NewModes new_modes_;
    Clock& clock_;
    std::map<GpuUuid, Supervised> supervised_;
};

}  // namespace tessera
