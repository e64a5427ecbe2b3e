// The ShareHolder port over the guard (docs/guard.md): a region per container below one folder of
// the node, and the guard's library beside them. What is written is written whole or not at all.
//
// The accounts are written by tenants, who may also truncate them: nobody here maps them.
//
//     FOLDER/libtessera-guard.so         as this agent brought it
//     FOLDER/ld.so.preload               names it, as a container sees it
//     FOLDER/pods/UID/allocation.json    of a pod that was resized (region_limits.hpp)
//     FOLDER/pods/UID/CONTAINER/ld.so.preload  where the pod's own list is merged with ours
//                              /limits   read by its processes
//                              /accounts   written by them
//                              /pod        NAMESPACE/NAME, for people
//                              /told       what its user knows of its limit (told_limits.hpp)
//                              /told-damage   he knows that its accounts are damaged
#pragma once

#include <filesystem>
#include <string>

#include "adapters/guard/region_limits.hpp"
#include "adapters/guard/time_sharer.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

struct GuardFolderOptions {
    std::string folder;                    // of the node, where programs may be run from: not /run
    std::string library;                   // the guard's, of this agent
    std::optional<bool> has_selinux = {};  // left out: as the node is
};

class GuardFolder final : public ShareHolder {
  public:
    GuardFolder(GuardFolderOptions options, Clock& clock);

    // Puts the library and its list in place. Containers that run keep the ones they have.
    Result<> install();
    // Why no container can be held on this node, as install() found; empty where it can be.
    [[nodiscard]] const std::string& fault() const { return fault_; }

    [[nodiscard]] std::vector<std::string> mount_points() const override;
    [[nodiscard]] bool is_ours(const std::string& source) const override;
    [[nodiscard]] Result<> check_mounted(const HeldContainer& container,
                                         std::int64_t pid) const override;
    [[nodiscard]] std::optional<std::string> container_of(const PodUid& pod,
                                                          std::int64_t pid) const override;
    Result<std::vector<FileMount>> hold(const HeldContainer& container,
                                        const std::vector<HeldShare>& shares) override;
    [[nodiscard]] std::vector<ShareUse> uses() const override;
    [[nodiscard]] std::set<PodUid> pods() const override;
    void forget(const PodUid& pod) override;
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override;
    [[nodiscard]] std::set<PodUid> unreadable() const override;
    [[nodiscard]] std::optional<ToldLimit> told(const ShareUse& use) const override;
    void note_told(const ShareUse& use, const ToldLimit& told) override;
    [[nodiscard]] bool is_damage_told(const ShareUse& use) const override;
    void note_damage_told(const ShareUse& use, bool is_told) override;

    // Shares out the cards' time among the containers (time_sharer.hpp) until `stop`. One thread.
    void share_out_time(const std::stop_token& stop) { sharer_.run(stop); }

    // Of the containers that run; as long as this.
    [[nodiscard]] LiveLimits& limits() { return limits_; }

  private:
    [[nodiscard]] std::filesystem::path region_of(const PodUid& pod,
                                                  const std::string& container) const;
    [[nodiscard]] Result<std::filesystem::path> preload_list_for(
        const HeldContainer& container) const;
    [[nodiscard]] std::vector<FileMount> mounts_of(const HeldContainer& container,
                                                   const std::filesystem::path& preload) const;

    const GuardFolderOptions options_;
    std::string fault_;
    TimeSharer sharer_;
    RegionLimits limits_;
};

}  // namespace tessera
