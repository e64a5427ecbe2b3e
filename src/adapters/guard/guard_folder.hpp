// The Enforcer port over the guard (docs/internals/guard.md). One folder of the node has a region
// per container, and beside them the guard's library. Files are written atomically.
//
// Tenants write the accounts and may also truncate them, so this process never maps them.
//
//     FOLDER/libtessera-guard.so               of this agent's release
//     FOLDER/ld.so.preload                     names the library by its path in a container
//     FOLDER/pods/UID/allocation.json          of a pod that was resized (resized_allocations.hpp)
//     FOLDER/pods/UID/CONTAINER/
//
// The folder of a container has these files:
//
//     ld.so.preload   if the pod's own list is merged with ours
//     limits          read by its processes
//     accounts        written by them
//     pod             NAMESPACE/NAME, for people
//     told            limits that were reported (reported_limits.hpp)
//     told-damage     its damaged accounts were reported
#pragma once

#include <filesystem>
#include <string>

#include "adapters/guard/region_limits.hpp"
#include "adapters/guard/time_sharer.hpp"
#include "ports/enforcer.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

struct GuardFolderOptions {
    std::string folder;   // of the node, on a file system that allows execution: not /run
    std::string library;  // this agent's guard library
    std::optional<bool> has_selinux = {};  // empty: detect it
};

class GuardFolder final : public Enforcer, public ShareMeter {
  public:
    GuardFolder(GuardFolderOptions options, Clock& clock);

    // Installs the library and its list. Running containers keep the ones that they have.
    Result<> install();
    // Why shares cannot be enforced on this node, as install() found; empty if they can.
    [[nodiscard]] const std::string& fault() const { return fault_; }

    [[nodiscard]] std::vector<std::string> mount_points() const override;
    [[nodiscard]] bool is_ours(const std::string& source) const override;
    [[nodiscard]] Result<> check_mounted(const EnforcedContainer& container,
                                         std::int64_t pid) const override;
    [[nodiscard]] std::optional<std::string> container_of(const PodUid& pod,
                                                          std::int64_t pid) const override;
    Result<std::vector<FileMount>> hold(const EnforcedContainer& container,
                                        const std::vector<EnforcedShare>& shares) override;
    [[nodiscard]] std::vector<ShareUse> uses() const override;
    [[nodiscard]] std::set<PodUid> pods() const override;
    void forget(const PodUid& pod) override;
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override;
    [[nodiscard]] std::set<PodUid> unreadable() const override;
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override;

    // Shares out the GPUs' time among the containers (time_sharer.hpp) until `stop`. One thread.
    void share_out_time(const std::stop_token& stop) { sharer_.run(stop); }

    // FOLDER/pods.
    [[nodiscard]] std::filesystem::path pods_folder() const;

  private:
    [[nodiscard]] std::filesystem::path region_of(const PodUid& pod,
                                                  const std::string& container) const;
    [[nodiscard]] Result<std::filesystem::path> preload_list_for(
        const EnforcedContainer& container) const;
    [[nodiscard]] std::vector<FileMount> mounts_of(const EnforcedContainer& container,
                                                   const std::filesystem::path& preload) const;

    const GuardFolderOptions options_;
    std::string fault_;
    TimeSharer sharer_;
    RegionLimits limits_;
};

}  // namespace tessera
