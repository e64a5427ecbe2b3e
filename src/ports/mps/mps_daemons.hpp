// What the agent says to tessera-mps of its node, and what it learns from it
// (docs/formats/mps-folder.md).
#pragma once

#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/mps/mps_grant.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

// Any thread may call.
class MpsDaemons {
  public:
    virtual ~MpsDaemons() = default;

    // Whether tessera-mps runs on this node.
    [[nodiscard]] virtual bool is_supervised() const = 0;
    // The GPUs of which a control daemon is wanted, or of which tessera-mps states something.
    [[nodiscard]] virtual std::vector<GpuUuid> gpus() const = 0;
    // Nothing: no daemon is wanted. An error names the file.
    [[nodiscard]] virtual Result<std::optional<MpsSettings>> wanted(const GpuUuid& gpu) const = 0;
    // Nothing: the daemon is to end.
    virtual Result<> want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) = 0;
    // Nothing: there is no daemon, and none is left.
    [[nodiscard]] virtual Result<std::optional<MpsState>> state(const GpuUuid& gpu) const = 0;
    // What of the state was reported to the users of the GPU's pods, also by an earlier agent.
    // Nothing: nothing yet, or it cannot be read.
    [[nodiscard]] virtual std::optional<MpsReported> reported(const GpuUuid& gpu) const = 0;
    virtual Result<> note_reported(const GpuUuid& gpu, const MpsReported& reported) = 0;
};

// The containers that started with MPS, also those of an earlier agent. Any thread may call.
class MpsGrants {
  public:
    virtual ~MpsGrants() = default;

    [[nodiscard]] virtual std::vector<MpsGrant> grants() const = 0;
};

}  // namespace tessera
