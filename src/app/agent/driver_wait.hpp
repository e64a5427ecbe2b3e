// An agent that starts while its node's driver is being replaced.
#pragma once

#include <chrono>
#include <stop_token>

#include "base/ids.hpp"
#include "ports/kube_api.hpp"

namespace tessera {

// Shows on the Node that the driver is free while a label asks for that. Returns when no label of
// the Node asks to let go of the driver (driver_release.hpp), at `stop`, or when the API server
// cannot say: then the driver is opened as ever.
void wait_for_driver(KubeApi& kube, const NodeName& node, const std::stop_token& stop,
                     std::chrono::milliseconds period = std::chrono::seconds(5));

}  // namespace tessera
