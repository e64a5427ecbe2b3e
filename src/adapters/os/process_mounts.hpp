// What a process of the node has mounted, compared with files of the node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/container_start/mount_table.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

class ProcessMounts {
  public:
    // conflict if the process has more mounts than can be checked (a tenant can make thousands);
    // other errors if they cannot be read, which needs hostPID in a container.
    static Result<ProcessMounts> read(std::int64_t pid);

    // Whether the process sees these files of this node at their destinations, and no mount that
    // covers them. conflict names the container and what is covered; `what` says what the file is
    // for.
    [[nodiscard]] Result<> check(const std::vector<FileMount>& files, std::string_view container,
                                 std::string_view what) const;
    // Whether this file or folder of this node is mounted anywhere.
    [[nodiscard]] bool has(const std::filesystem::path& source) const;

  private:
    ProcessMounts() = default;

    std::filesystem::path thread_;  // in /proc
    std::vector<MountEntry> theirs_;
    std::vector<MountEntry> ours_;
};

}  // namespace tessera
