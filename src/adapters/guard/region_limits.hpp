// The limits of running containers in the guard's regions (guard_folder.hpp). Running processes
// have mapped them.
//
//     FOLDER/pods/UID/CONTAINER/limits
//     FOLDER/pods/UID/CONTAINER/enforces   what the guard limits: "memory" or "compute"; without
//                                          this file both
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

// What the guard limits of the container with this region folder. A file that cannot be read means
// both.
ShareResources read_enforced(const std::filesystem::path& region);
// `what` has at least one resource.
Result<> write_enforced(const std::filesystem::path& region, ShareResources what);

// The share as the guard enforces it. Without compute in `what` it limits no compute; another
// enforcer does. Memory is always limited: the guard counts it anyway, and where another enforcer
// limits it, this is a second bound.
EnforcedShare as_enforced(EnforcedShare share, ShareResources what);

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
