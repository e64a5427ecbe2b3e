// The DeviceHolders port over kubelet's checkpoint file (wire/node/kubelet_checkpoint.hpp).
#pragma once

#include <memory>
#include <string>

#include "ports/kubelet.hpp"

namespace tessera {

// `folder` is kubelet's device-plugin folder.
std::unique_ptr<DeviceHolders> make_device_checkpoint(const std::string& folder);

}  // namespace tessera
