// The agent's side of the folder of the MPS daemons (docs/formats/mps-folder.md).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "adapters/mps/mps_folder.hpp"
#include "domain/mps/mps_report.hpp"
#include "ports/mps/mps_daemons.hpp"

namespace tessera {

class AgentMpsFolder final : public MpsDaemons {
  public:
    explicit AgentMpsFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    [[nodiscard]] bool is_supervised() const override;
    [[nodiscard]] std::vector<GpuUuid> gpus() const override { return folder_.gpus(); }
    [[nodiscard]] Result<std::optional<MpsSettings>> wanted(const GpuUuid& gpu) const override {
        return folder_.wanted(gpu);
    }
    Result<> want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) override;
    [[nodiscard]] Result<std::optional<MpsState>> state(const GpuUuid& gpu) const override;

    [[nodiscard]] std::optional<MpsReported> reported(const GpuUuid& gpu) const override;
    Result<> note_reported(const GpuUuid& gpu, const MpsReported& reported) override;

    // As last_lines() (bounded_log.hpp); none for a name that is no GPU's.
    [[nodiscard]] std::vector<MpsLog> logs(const GpuUuid& gpu) const;

  private:
    const MpsFolder folder_;
};

}  // namespace tessera
