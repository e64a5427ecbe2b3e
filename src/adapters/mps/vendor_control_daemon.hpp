// The ControlDaemon port with NVIDIA's programs nvidia-cuda-mps-control and nvidia-cuda-mps-server
// (or gpusim's). The daemon runs with -f in a session of its own, and sees only its GPU.
//
// Which process is the daemon: it has a POSIX lock on `control_lock` among its pipes as long as it
// lives, and the kernel tells whose lock that is. So no file can name a wrong process, and a daemon
// that an earlier tessera-mps started is found.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/mps/mps_paths.hpp"
#include "base/ids.hpp"
#include "ports/mps/control_daemon.hpp"

namespace tessera {

struct VendorMpsPrograms {
    std::string control;               // path of nvidia-cuda-mps-control
    std::vector<std::string> folders;  // with the server: PATH of the daemon
    std::string libraries;             // LD_LIBRARY_PATH
};

// Those of a driver root, in the folders where distributions and the GPU operator put them.
// `links` becomes a folder of links to the driver's libraries. not_found names the folders that
// were searched.
Result<VendorMpsPrograms> find_mps_programs(const std::string& driver_root,
                                            const std::filesystem::path& links);

class VendorControlDaemon final : public ControlDaemon {
  public:
    VendorControlDaemon(GpuUuid gpu, MpsPaths paths, VendorMpsPrograms programs)
        : gpu_(std::move(gpu)), paths_(std::move(paths)), programs_(std::move(programs)) {}

    // It also reaps a daemon that this process started and that has ended.
    Result<std::optional<std::int64_t>> pid() override;
    Result<> start() override;
    Result<> kill(std::int64_t pid) override;
    std::vector<std::int64_t> faulted_clients() override;
    Result<> end_server(std::int64_t pid) override;
    bool has_servers() override;
    Result<std::string> execute(std::string_view command) override;
    Result<std::string> execute_as_tenant(std::string_view command) override;
    Result<> open() override;
    void close() override;
    Result<> clear() override;

  private:
    [[nodiscard]] Result<std::string> run(std::string_view command,
                                          const std::filesystem::path& pipes) const;
    // Ends when `child` takes commands, or has ended and is reaped. `logged`: the length of its log
    // before it.
    Result<> wait_for_commands(pid_t child, std::uintmax_t logged);

    const GpuUuid gpu_;
    const MpsPaths paths_;
    const VendorMpsPrograms programs_;
    // How much of the logs was read for faults; nothing before the first call.
    std::optional<std::uintmax_t> daemon_logged_;
    std::optional<std::uintmax_t> server_logged_;
    pid_t child_ = 0;  // the daemon if this process started it and it has not been reaped
};

}  // namespace tessera
