// The folder in which tessera-agent says which GPUs are to have a control daemon, and tessera-mps
// says what they have (docs/formats/mps-folder.md).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "adapters/mps/mps_paths.hpp"
#include "adapters/os/descriptor.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

// Any thread may call. Text that others write is never trusted to be whole: a file is replaced by
// a rename.
class MpsFolder {
  public:
    explicit MpsFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

    // Makes the folder, and keeps it for this process until it ends. conflict if another process
    // has it.
    Result<> take();

    [[nodiscard]] std::filesystem::path lock() const { return folder_ / "lock"; }
    // The shared memory of the daemons' servers and of their clients: what they have as /dev/shm.
    [[nodiscard]] std::filesystem::path shared_memory() const { return folder_ / "shm"; }
    // The agent's notes of the containers that started with MPS.
    [[nodiscard]] std::filesystem::path grants() const { return folder_ / "grants"; }
    // Links to the libraries of the driver.
    [[nodiscard]] std::filesystem::path libraries() const { return folder_ / "libraries"; }
    // GPUs of which something is wanted, stated or left.
    [[nodiscard]] std::vector<GpuUuid> gpus() const;
    [[nodiscard]] MpsPaths paths(const GpuUuid& gpu) const { return MpsPaths(folder_ / gpu.str()); }
    // Nothing: no daemon is wanted. Errors as read_mps_settings, and unavailable.
    [[nodiscard]] Result<std::optional<MpsSettings>> wanted(const GpuUuid& gpu) const;
    Result<> write_state(const MpsState& state) const;
    // Removes what there is of a GPU, apart from `wanted.json`, the logs, and the folder that
    // containers may have mounted.
    void forget(const GpuUuid& gpu) const;

  private:
    const std::filesystem::path folder_;
    Descriptor lock_{-1};
};

}  // namespace tessera
