// The control daemons of a node: one thread and one supervisor for each GPU.
#pragma once

#include <atomic>
#include <map>
#include <stop_token>
#include <thread>

#include "adapters/mps/mps_folder.hpp"
#include "adapters/mps/vendor_control_daemon.hpp"
#include "ports/clock.hpp"
#include "ports/mps/compute_modes.hpp"

namespace tessera {

class MpsNode {
  public:
    // The references outlive this.
    MpsNode(MpsFolder& folder, VendorMpsPrograms programs, ComputeModes& modes, Clock& clock)
        : folder_(folder), programs_(std::move(programs)), modes_(modes), clock_(clock) {}

    // Supervises until `stop`; the daemons stay.
    void run(const std::stop_token& stop);

  private:
    struct Supervised {
        std::atomic<bool> has_ended = false;
        std::jthread thread;
    };

    void supervise(const GpuUuid& gpu, const std::stop_token& stop);

    MpsFolder& folder_;
    const VendorMpsPrograms programs_;
    ComputeModes& modes_;
    Clock& clock_;
    std::map<GpuUuid, Supervised> supervised_;
};

}  // namespace tessera
