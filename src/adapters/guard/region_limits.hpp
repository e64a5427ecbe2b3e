// Changes the limits of running containers in the guard's regions (guard_folder.hpp). Running
// processes have mapped the limits.
//
//     FOLDER/pods/UID/CONTAINER/limits
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

// Any thread may call.
class RegionLimits {
  public:
    // `pods` is the folder of the regions; `on_change` is called after a container's limits were
    // changed.
    RegionLimits(std::filesystem::path pods, std::function<void()> on_change)
        : pods_(std::move(pods)), on_change_(std::move(on_change)) {}

    // As Enforcer::update. corrupt: the limits are of another release, or not whole.
    Result<bool> change(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares);

  private:
    const std::filesystem::path pods_;
    const std::function<void()> on_change_;
};

}  // namespace tessera
