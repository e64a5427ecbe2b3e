// The DeviceHolders port over kubelet's checkpoint file (wire/node/kubelet_checkpoint.hpp).
#pragma once

#include <memory>
#include <string>

#include "domain/dialect/dialect.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

// `folder` is kubelet's device-plugin folder. `dialects` outlives the result; they tell the
// variables of former plugins (Dialect::former_variable).
std::unique_ptr<DeviceHolders> make_device_checkpoint(const std::string& folder,
                                                      const Dialects& dialects = all_dialects());

}  // namespace tessera
