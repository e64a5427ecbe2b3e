// The Enforcer port over the driver's memory limits for cgroups (drivers from r615 on): all that a
// container's processes take of a GPU together, contexts too, is at most its share. A program
// cannot avoid it, whatever it has loaded. Memory that cuMemAllocManaged() gets does not count
// there; the guard, which is in the same container for its compute, counts it.
//
// The limit is one of the container's cgroup, which only the runtime's NRI hooks name. It is set
// when the cgroup exists and before the program runs, and is gone with the cgroup.
//
//     FOLDER/POD/CONTAINER.json   what a container started with
//     (wire/tessera/memory_limits_json.hpp)
//
// Soft limits are always 0, because the driver adds them to the cgroups above and leaves them there
// when the cgroup is removed first.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/bounded_mutex.hpp"
#include "domain/container_start/memory_limits.hpp"
#include "ports/enforcer.hpp"
#include "ports/shares/cgroup_memory_limits.hpp"

namespace tessera {

class DriverEnforcer final : public Enforcer {
  public:
    // cgroup_root: the folder of the node's cgroups, as the driver's limits take it.
    DriverEnforcer(std::filesystem::path folder, std::filesystem::path cgroup_root,
                   CgroupMemoryLimits& limits)
        : folder_(std::move(folder)), cgroup_root_(std::move(cgroup_root)), limits_(limits) {}

    [[nodiscard]] std::string_view name() const override { return kDriverEnforcer; }
    [[nodiscard]] std::string fault(ShareResource resource) const override;
    // The guard in the same container shows it. The driver does in cuMemGetInfo alone.
    [[nodiscard]] bool shows_share() const override { return true; }
    // Not for MPS: its server, which is in no container, holds memory of its clients.
    [[nodiscard]] Result<> can_enforce(ShareResource resource, const EnforcedContainer& container,
                                       const std::vector<EnforcedShare>& shares) const override;
    Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares,
                                   ShareResources what) override;
    Result<> apply(const EnforcedContainer& container, std::int64_t pid) override;
    [[nodiscard]] ShareResources enforces(const PodUid& pod,
                                          const std::string& container) const override;
    void release(const PodUid& pod, const std::string& container) override;
    void recover(const std::set<PodUid>& known, const std::set<PodUid>& orphans) override;
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override;
    // Whether the process is in the cgroup, and the cgroup has its limits. What an earlier agent
    // left out is set first. While the driver is closed, the limits are not read.
    [[nodiscard]] Result<> verify(const EnforcedContainer& container,
                                  std::int64_t pid) const override;
    // Nothing: the guard in the same container measures more.
    [[nodiscard]] ShareUsage usage() const override { return {}; }
    [[nodiscard]] std::set<PodUid> pods() const override;
    // Whether a cgroup of the pod has a process.
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override;
    void cleanup(const PodUid& pod) override;

  private:
    [[nodiscard]] std::filesystem::path record_of(const PodUid& pod,
                                                  const std::string& container) const;
    // Nothing if there is none, or if it cannot be read, which is logged.
    [[nodiscard]] std::optional<ContainerMemoryLimits> read(
        const std::filesystem::path& record) const;
    [[nodiscard]] Result<ContainerMemoryLimits> wanted_for(
        const EnforcedContainer& container) const;
    // mutex_; unavailable if the driver keeps another thread from it.
    [[nodiscard]] Result<BoundedMutex::Lock> locked() const;
    // The functions below need mutex_.
    // Sets the limits that the driver does not have. True if it set any.
    Result<bool> restore(const ContainerMemoryLimits& wanted) const;
    [[nodiscard]] Result<> check(const ContainerMemoryLimits& wanted,
                                 const std::string& container) const;
    void remove(const std::filesystem::path& record);

    const std::filesystem::path folder_;
    const std::filesystem::path cgroup_root_;
    CgroupMemoryLimits& limits_;
    // Held from reading a record to the driver's answer, so that no thread sees the one without the
    // other. Containers that start do not wait for a driver that hangs.
    mutable BoundedMutex mutex_;
    // Guarded by mutex_: the cgroups whose limits this agent has set, or found as they must be.
    // Those of an earlier agent may lack limits: it may have been killed at any moment.
    mutable std::set<std::string> seen_;
};

}  // namespace tessera
