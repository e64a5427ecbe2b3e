// The ReportedLimits port, in files beside a container's region (guard_folder.hpp).
//
//     FOLDER/pods/UID/CONTAINER/reported          the limits that were reported
//     FOLDER/pods/UID/CONTAINER/reported-damage   exists if its damaged accounts were reported
//     FOLDER/pods/UID/CONTAINER/reported-context  exists if a context that it was refused was
#pragma once

#include <filesystem>

#include "ports/shares/reported_limits.hpp"

namespace tessera {

class ReportedLimitFiles final : public ReportedLimits {
  public:
    // `pods` is the folder of the regions (GuardFolder::pods_folder).
    explicit ReportedLimitFiles(std::filesystem::path pods) : pods_(std::move(pods)) {}

    [[nodiscard]] std::optional<ReportedLimit> reported(const ShareUse& use) const override;
    // A failed write shows in the log that the disk fails. The container has no folder if its
    // share is enforced only from outside; it is made.
    void note_reported(const ShareUse& use, const ReportedLimit& reported) override;
    [[nodiscard]] bool is_reported(ContainerNotice notice, const ShareUse& use) const override;
    void note_reported(ContainerNotice notice, const ShareUse& use, bool is_reported) override;

  private:
    [[nodiscard]] std::filesystem::path folder_of(const ShareUse& use) const;

    const std::filesystem::path pods_;
};

}  // namespace tessera
