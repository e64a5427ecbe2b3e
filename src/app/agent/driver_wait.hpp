// An agent that starts while its node's driver is being replaced.
#pragma once

#include <chrono>
#include <stop_token>

#include "base/ids.hpp"
#include "ports/kube_api.hpp"

namespace tessera {

// Returns when no label of the Node asks to release the driver (driver_release.hpp), or at `stop`.
// Until then the Node shows that the driver is free, and its GPUs as not shareable. While the API
// server does not answer, the last label that was seen counts; without one, this returns at once.
void wait_for_driver(KubeApi& kube, const NodeName& node, const std::stop_token& stop,
                     std::chrono::milliseconds period = std::chrono::seconds(5));

}  // namespace tessera
