// The MPS control daemon: one thread that owns the settings, and never waits for one peer.
#pragma once

#include "gpusim/mps/commands.hpp"
#include "gpusim/mps/log.hpp"

namespace gpusim::mps {

enum class Mode { foreground, background };

struct DaemonPlan {
    Mode mode = Mode::foreground;
    Version version = Version::v550;
};

// Runs until `quit` and returns the exit status. In the background it returns 0 in the caller's
// process once the sockets exist.
int run_daemon(const DaemonPlan& plan);

}  // namespace gpusim::mps
