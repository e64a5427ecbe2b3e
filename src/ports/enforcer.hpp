// Enforces the GPU shares of containers on their processes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "domain/request/gpu_request.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

struct EnforcedShare {
    GpuUuid gpu;
    Bytes memory;
    Percent cores;                        // guarantee: percent of the GPU's time; 0: no guarantee
    Percent cores_limit = kNoCoresLimit;  // the most that it gets

    friend bool operator==(const EnforcedShare&, const EnforcedShare&) = default;
};

struct EnforcedContainer {
    PodUid pod;
    PodName name;
    std::string container;
    // A file of the node: a list of libraries to preload that is merged with ours. Empty: none.
    std::string preload_list = {};
};

// Any thread may call.
class Enforcer {
  public:
    virtual ~Enforcer() = default;

    // Where the files that hold() returns are mounted in a container: normalized absolute paths,
    // the same for every container.
    [[nodiscard]] virtual std::vector<std::string> mount_points() const = 0;
    // Whether a file of the node, given by its path on the node, is one that hold() returns. False
    // for files of an agent that used another folder.
    [[nodiscard]] virtual bool is_ours(const std::string& source) const = 0;
    // The files that enforce a container's shares; they stay valid when the container restarts. An
    // error says what to do, for the pod's event.
    virtual Result<std::vector<FileMount>> hold(const EnforcedContainer& container,
                                                const std::vector<EnforcedShare>& shares) = 0;
    // Whether the process `pid` of the node sees in its mount namespace the files that hold()
    // returned for its container, and no mount that covers them. conflict if not, with the path;
    // unavailable if the process's mounts cannot be read.
    [[nodiscard]] virtual Result<> check_mounted(const EnforcedContainer& container,
                                                 std::int64_t pid) const = 0;
    // Which container of the pod a process belongs to, by the accounts in the process's mount
    // namespace. Nothing if there are none or they cannot be read.
    [[nodiscard]] virtual std::optional<std::string> container_of(const PodUid& pod,
                                                                  std::int64_t pid) const = 0;
    // Gives the processes of an enforced container these shares from now on. They keep memory that
    // is above a new limit. False if they have these shares already, or if nothing is enforced
    // because the container has not started.
    virtual Result<bool> update(const PodUid& pod, const std::string& container,
                                const std::vector<EnforcedShare>& shares) = 0;
    // The pods of which files are kept; forget() removes the files of one pod.
    [[nodiscard]] virtual std::set<PodUid> pods() const = 0;
    virtual void forget(const PodUid& pod) = 0;
    // Whether an enforced process of the pod is alive.
    [[nodiscard]] virtual bool is_in_use(const PodUid& pod) const = 0;
};

}  // namespace tessera
