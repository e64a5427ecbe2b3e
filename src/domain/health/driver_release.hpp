// When a node's agent closes the driver, so that the driver can be unloaded and the GPUs can be
// reset. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tessera {

// Set by an administrator: "true" requests the release.
inline constexpr std::string_view kReleaseDriverLabel = "tessera.dev/release-driver";
// Set by NVIDIA's GPU Operator (k8s-operator-libs, pkg/upgrade): the state of a node's driver
// upgrade. No process may have the old driver open from the deletion of the node's GPU pods until
// the new driver is validated; nor after a failure, because the Operator tries again.
inline constexpr std::string_view kUpgradeStateLabel = "nvidia.com/gpu-driver-upgrade-state";

// Empty if the agent uses the driver, else the label that requests its release: "key=value".
std::string driver_release_label(const std::map<std::string, std::string, std::less<>>& labels);

}  // namespace tessera
