// The two open files of a container's region (guard/region/layout.hpp). The agent owns the limits
// and maps them. Tenants write the accounts and may truncate them, so the agent uses a descriptor
// for these.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "guard/region/layout.hpp"

namespace tessera {

// Which limits a process changes. own: only those of files that belong to its user. It has a copy
// of all others, so what it writes there has no effect. Other users may have made the region, so
// all accounts are read-only then, and no link to accounts is followed.
enum class ChangedLimits { all, own };

class OpenRegion {
  public:
    // Null if the region is not complete (yet).
    static std::unique_ptr<OpenRegion> open(const std::filesystem::path& region,
                                            ChangedLimits changed = ChangedLimits::all);
    ~OpenRegion();
    OpenRegion(const OpenRegion&) = delete;
    OpenRegion& operator=(const OpenRegion&) = delete;

    // Whether the region still has these files. A container's restart creates new limits, and
    // damaged accounts are replaced.
    [[nodiscard]] bool is_still(const std::filesystem::path& region) const;
    // Whether the header and the length of the accounts are as the guard's processes write them.
    [[nodiscard]] bool has_sound_accounts() const;
    // Restores the length of accounts that a tenant has made longer. Does nothing with
    // ChangedLimits::own.
    void cut_back() const;
    [[nodiscard]] guard::Limits& limits() const { return *limits_; }
    [[nodiscard]] int accounts() const { return accounts_; }
    // The inode of the accounts file: different files have different ones.
    [[nodiscard]] ino_t accounts_inode() const { return accounts_inode_; }

  private:
    OpenRegion() = default;

    guard::Limits* limits_ = nullptr;
    int accounts_ = -1;
    ChangedLimits changed_ = ChangedLimits::all;
    ino_t limits_inode_ = 0;
    ino_t accounts_inode_ = 0;
};

// A container's region below a folder of pods.
struct RegionPath {
    std::string pod;  // its uid
    std::string container;
    std::filesystem::path path;
};

// The regions that can be listed; a pod may disappear meanwhile.
void for_each_region(const std::filesystem::path& pods,
                     const std::function<void(const RegionPath&)>& body);

// The GPU of a limit.
GpuUuid gpu_of(const guard::GpuLimit& limit);

}  // namespace tessera
