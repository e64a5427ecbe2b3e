// The ResizedAllocations port, in the folder of the guard's regions (guard_folder.hpp).
//
//     FOLDER/pods/UID/allocation.json   (no container name contains a dot)
#pragma once

#include <filesystem>

#include "ports/shares/resized_allocations.hpp"

namespace tessera {

class ResizedAllocationFiles final : public ResizedAllocations {
  public:
    // `pods` is the folder of the regions (GuardFolder::pods_folder).
    explicit ResizedAllocationFiles(std::filesystem::path pods) : pods_(std::move(pods)) {}

    Result<> keep(const Allocation& allocation) override;
    [[nodiscard]] Result<std::optional<Allocation>> kept(const PodUid& pod) const override;

  private:
    const std::filesystem::path pods_;
};

}  // namespace tessera
