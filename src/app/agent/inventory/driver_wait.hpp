// Start of an agent while its node's driver is being replaced.
#pragma once

#include <stop_token>

#include "base/ids.hpp"
#include "ports/clock.hpp"
#include "ports/kube/kube_api.hpp"

namespace tessera {

// Waits until no label of the Node asks to release the driver (driver_release.hpp), or until
// `stop`. While it waits, the Node shows that the driver is released, and its GPUs as not
// shareable. If the API server does not answer, the last label that was read counts; if there is
// none, this returns at once. It reads the Node every five seconds.
void wait_for_driver(KubeApi& kube, const NodeName& node, Clock& clock,
                     const std::stop_token& stop);

}  // namespace tessera
