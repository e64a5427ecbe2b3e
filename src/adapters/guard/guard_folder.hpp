// The Enforcer port over the guard (docs/internals/guard.md). One folder of the node has a region
// per container, and beside them the guard's library. Files are written atomically.
//
// Tenants write the accounts and may also truncate them, so this process never maps them.
//
//     FOLDER/libtessera-guard.so               of this agent's release
//     FOLDER/tessera-mps-probe                 likewise, if it is beside the library
//     FOLDER/ld.so.preload                     names the library by its path in a container
//     FOLDER/pods/UID/allocation.json          of a pod that was resized (resized_allocations.hpp)
//     FOLDER/pods/UID/CONTAINER/
//
// The folder of a container has these files:
//
//     ld.so.preload   if the pod's own list is merged with ours
//     limits          read by its processes
//     accounts        written by them
//     enforces        if it is memory or compute alone (region_limits.hpp)
//     pod             NAMESPACE/NAME, for people
//     reported         limits that were reported (reported_limits.hpp)
//     reported-damage  its damaged accounts were reported; likewise reported-context
#pragma once

#include <filesystem>
#include <string>

#include "adapters/guard/region_limits.hpp"
#include "adapters/guard/time_sharer.hpp"
#include "ports/enforcer.hpp"

namespace tessera {

struct GuardFolderOptions {
    std::string folder;   // of the node, on a file system that allows execution: not /run
    std::string library;  // this agent's guard library
    std::optional<bool> has_selinux = {};  // empty: detect it
};

class GuardFolder final : public Enforcer, public ContainerFiles {
  public:
    GuardFolder(GuardFolderOptions options, Clock& clock);

    // Installs the library and its list. Running containers keep the ones that they have.
    Result<> install();
    // FOLDER/pods.
    [[nodiscard]] std::filesystem::path pods_folder() const;
    // FOLDER/tessera-mps-probe; install() has written it, or there is none.
    [[nodiscard]] std::filesystem::path probe() const;

    [[nodiscard]] std::string_view name() const override { return "guard"; }
    // As install() found; the same for both resources.
    [[nodiscard]] std::string fault(ShareResource resource) const override;
    [[nodiscard]] bool shows_share() const override { return true; }
    [[nodiscard]] Result<> can_enforce(ShareResource resource, const EnforcedContainer& container,
                                       const std::vector<EnforcedShare>& shares) const override;
    Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares,
                                   ShareResources what) override;
    // Does nothing: the processes map the limits themselves.
    Result<> apply(const EnforcedContainer&, std::int64_t) override { return {}; }
    [[nodiscard]] ShareResources enforces(const PodUid& pod,
                                          const std::string& container) const override;
    void release(const PodUid& pod, const std::string& container) override;
    // Does nothing: the regions are files, and the processes have mapped them.
    void recover(const std::set<PodUid>&, const std::set<PodUid>&) override {}
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override;
    // Whether the process sees in its mount namespace the files of prepare(), and no mount that
    // covers them.
    [[nodiscard]] Result<> verify(const EnforcedContainer& container,
                                  std::int64_t pid) const override;
    [[nodiscard]] ShareUsage usage() const override;
    [[nodiscard]] std::set<PodUid> pods() const override;
    // Whether a process that has loaded the guard is alive.
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override;
    void cleanup(const PodUid& pod) override;
    [[nodiscard]] const ContainerFiles* files() const override { return this; }

    [[nodiscard]] std::vector<std::string> mount_points() const override;
    [[nodiscard]] bool is_ours(const std::string& source) const override;
    // By the accounts that the process has mounted.
    [[nodiscard]] std::optional<std::string> container_of(const PodUid& pod,
                                                          std::int64_t pid) const override;

    // Shares out the GPUs' time among the containers (time_sharer.hpp) until `stop`. One thread.
    void share_out_time(const std::stop_token& stop) { sharer_.run(stop); }

  private:
    Result<> install_probe() const;
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
