// tessera-mps on a node, as the agent sees it: a daemon follows what is wanted within seconds. Its
// files outlive the agent.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ports/mps/mps_daemons.hpp"
#include "testing/simulation/scene.hpp"

namespace tessera::simulation {

class Machine;

class MpsNode final : public MpsDaemons, public MpsGrants {
  public:
    MpsNode(Scene& scene, const Machine& machine) : scene_(scene), machine_(machine) {}

    [[nodiscard]] bool is_supervised() const override { return true; }
    [[nodiscard]] std::vector<GpuUuid> gpus() const override;
    [[nodiscard]] Result<std::optional<MpsSettings>> wanted(const GpuUuid& gpu) const override;
    Result<> want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) override;
    [[nodiscard]] Result<std::optional<MpsState>> state(const GpuUuid& gpu) const override;
    [[nodiscard]] std::optional<MpsReported> reported(const GpuUuid&) const override { return {}; }
    Result<> note_reported(const GpuUuid&, const MpsReported&) override { return {}; }
    // Of the containers that run.
    [[nodiscard]] std::vector<MpsGrant> grants() const override;

  private:
    void follow(const GpuUuid& gpu);

    Scene& scene_;
    const Machine& machine_;
    std::map<GpuUuid, MpsSettings> wants_;
    std::map<GpuUuid, MpsSettings> serves_;
};

}  // namespace tessera::simulation
