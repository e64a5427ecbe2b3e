// The Enforcer port over NVIDIA MPS: a container's kernels run beside those of others, on at most
// its percent of the GPU's multiprocessors. It limits compute. Memory is limited by another
// enforcer: a memory limit of MPS is for one process, not for a container.
//
// The container gets the pipe of its GPU's control daemon, which tessera-mps keeps, and its
// percentage by an environment variable. A program can remove the variable; it then has the
// daemon's limit, which is the largest of the GPU's containers.
//
//     FOLDER/grants/POD/CONTAINER.json   what a container started with (mps_folder_json.hpp)
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/mps/mps_folder.hpp"
#include "domain/mps/client_environment.hpp"
#include "ports/enforcer.hpp"
#include "ports/mps/mps_daemons.hpp"

namespace tessera {

class MpsEnforcer final : public Enforcer, public ContainerFiles, public MpsGrants {
  public:
    // shares_memory: containers get the servers' /dev/shm (mps_shared_memory of the agent).
    // probe: the program of `tessera mps verify` on the node, if it is there (GuardFolder::probe).
    MpsEnforcer(std::filesystem::path folder, bool shares_memory, std::filesystem::path probe)
        : path_(folder),
          folder_(std::move(folder)),
          shares_memory_(shares_memory),
          probe_(std::move(probe)) {}

    [[nodiscard]] std::string_view name() const override { return "mps"; }
    [[nodiscard]] std::string fault(ShareResource resource) const override;
    [[nodiscard]] Result<> can_enforce(ShareResource resource, const EnforcedContainer& container,
                                       const std::vector<EnforcedShare>& shares) const override;
    Result<ContainerEdits> prepare(const EnforcedContainer& container,
                                   const std::vector<EnforcedShare>& shares,
                                   ShareResources what) override;
    // Does nothing: a client gets its limits when it connects.
    Result<> apply(const EnforcedContainer&, std::int64_t) override { return {}; }
    [[nodiscard]] ShareResources enforces(const PodUid& pod,
                                          const std::string& container) const override;
    void release(const PodUid& pod, const std::string& container) override;
    // Does nothing: tessera-mps keeps the daemons.
    void recover(const std::set<PodUid>&, const std::set<PodUid>&) override {}
    // conflict if the share is another one: a client keeps the limits with which it connected.
    Result<bool> update(const PodUid& pod, const std::string& container,
                        const std::vector<EnforcedShare>& shares) override;
    // Whether the process sees the pipe of its GPU's daemon, and the shared memory if it has it.
    [[nodiscard]] Result<> verify(const EnforcedContainer& container,
                                  std::int64_t pid) const override;
    // The shares, without what is used: MPS measures neither time nor a container's memory.
    [[nodiscard]] ShareUsage usage() const override;
    [[nodiscard]] std::set<PodUid> pods() const override;
    // Whether a process of the pod lives: it has the pipe, and may start programs that use MPS.
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override;
    void cleanup(const PodUid& pod) override;
    [[nodiscard]] const ContainerFiles* files() const override { return this; }

    [[nodiscard]] std::vector<std::string> mount_points() const override;
    [[nodiscard]] bool is_optional(std::string_view mount_point) const override {
        return mount_point == kMpsProbeInContainer;
    }
    [[nodiscard]] bool is_ours(const std::string& source) const override;
    [[nodiscard]] std::optional<std::string> container_of(const PodUid&,
                                                          std::int64_t) const override {
        return std::nullopt;  // the containers of a GPU have the same files
    }

    [[nodiscard]] std::vector<MpsGrant> grants() const override;

  private:
    [[nodiscard]] std::filesystem::path grant_file(const PodUid& pod,
                                                   const std::string& container) const;
    [[nodiscard]] std::optional<MpsGrant> grant_of(const PodUid& pod,
                                                   const std::string& container) const;
    [[nodiscard]] std::vector<FileMount> mounts_of(const MpsGrant& grant) const;

    const std::filesystem::path path_;
    const MpsFolder folder_;
    const bool shares_memory_;
    const std::filesystem::path probe_;
};

}  // namespace tessera
