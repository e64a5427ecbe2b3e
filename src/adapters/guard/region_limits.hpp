// The LiveLimits port over the guard's regions (guard_folder.hpp). Running processes have mapped
// the limits.
//
//     FOLDER/pods/UID/allocation.json   the newest allocation of a pod that was resized
//     FOLDER/pods/UID/CONTAINER/limits  (no container name contains a dot)
#pragma once

#include <filesystem>
#include <functional>

#include "ports/live_limits.hpp"

namespace tessera {

class RegionLimits final : public LiveLimits {
  public:
    // `pods` is the folder of the regions; `on_change` is called after a container's limits were
    // changed.
    RegionLimits(std::filesystem::path pods, std::function<void()> on_change)
        : pods_(std::move(pods)), on_change_(std::move(on_change)) {}

    Result<bool> change(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override;
    Result<> keep(const Allocation& allocation) override;
    [[nodiscard]] Result<std::optional<Allocation>> kept(const PodUid& pod) const override;

  private:
    const std::filesystem::path pods_;
    const std::function<void()> on_change_;
};

}  // namespace tessera
