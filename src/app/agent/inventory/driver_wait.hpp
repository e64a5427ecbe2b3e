// Start of an agent while its node's driver is being replaced.
#pragma once

#include <chrono>
#include <stop_token>

#include "base/ids.hpp"
#include "ports/kube/kube_api.hpp"

namespace tessera {

// Waits until no label of the Node asks to release the driver (driver_release.hpp), or until
// `stop`. While it waits, the Node shows that the driver is released, and its GPUs as not
// shareable. If the API server does not answer, the last label that was read counts; if there is
// none, this returns at once. `period`: time between two reads of the Node.
void wait_for_driver(KubeApi& kube, const NodeName& node, const std::stop_token& stop,
                     std::chrono::milliseconds period = std::chrono::seconds(5));

}  // namespace tessera
