// The PodResources port over kubelet's socket (research/nvidia.md §1b.2).
#pragma once

#include <memory>
#include <string>

#include "ports/kubelet.hpp"

namespace tessera {

std::unique_ptr<PodResources> make_pod_resources(const std::string& socket);

}  // namespace tessera
