// When a node's agent lets go of the driver, so that the driver can be unloaded and the GPUs be
// reset. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tessera {

// An administrator's: "true" asks for it.
inline constexpr std::string_view kReleaseDriverLabel = "tessera.dev/release-driver";
// NVIDIA's GPU Operator (k8s-operator-libs, pkg/upgrade): where a node's driver upgrade stands.
// No process may have the old driver open from when the node's GPU pods are deleted until the new
// driver is validated; nor after a failure, because the Operator tries again.
inline constexpr std::string_view kUpgradeStateLabel = "nvidia.com/gpu-driver-upgrade-state";

// Empty where the agent uses the driver, else the label that asks it to let go: "key=value".
std::string driver_release_label(const std::map<std::string, std::string, std::less<>>& labels);

}  // namespace tessera
