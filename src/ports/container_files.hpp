// The files by which an enforcer inside the container works: a library, its limits and accounts. An
// enforcer outside the container (a driver limit by cgroup path, an MPS namespace by user id) has
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace tessera {

// Any thread may call.
class ContainerFiles {
  public:
    virtual ~ContainerFiles() = default;

    // Where the files of Enforcer::prepare are mounted in a container: normalized absolute paths,
    // the same for every container.
    [[nodiscard]] virtual std::vector<std::string> mount_points() const = 0;
    // Whether a container may lack what is mounted there: a file that enforces nothing, and that
    // earlier releases did not mount.
    [[nodiscard]] virtual bool is_optional(std::string_view /*mount_point*/) const { return false; }
    // Whether a file of the node, given by its path on the node, is one that Enforcer::prepare
    // mounts. False for files of an agent that used another folder.
    [[nodiscard]] virtual bool is_ours(const std::string& source) const = 0;
    // Which container of the pod a process belongs to, by the files in the process's mount
    // namespace. Nothing if there are none or they cannot be read.
    [[nodiscard]] virtual std::optional<std::string> container_of(const PodUid& pod,
                                                                  std::int64_t pid) const = 0;
};

}  // namespace tessera
