// The two files of a container's region (guard/region/layout.hpp), as the agent has them open: the
// limits mapped, which are its own; the accounts by a descriptor, for tenants write them, and may
// truncate them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "guard/region/layout.hpp"

namespace tessera {

class OpenRegion {
  public:
    // Null where it is not whole (yet).
    static std::unique_ptr<OpenRegion> open(const std::filesystem::path& region);
    ~OpenRegion();
    OpenRegion(const OpenRegion&) = delete;
    OpenRegion& operator=(const OpenRegion&) = delete;

    // The limits are made anew when a container starts again, and the accounts where they were
    // damaged.
    [[nodiscard]] bool is_still(const std::filesystem::path& region) const;
    // What the accounts say is what the guard's processes wrote, as far as their beginning and
    // their length tell.
    [[nodiscard]] bool has_sound_accounts() const;
    // Accounts that a tenant has made longer are as long as they should be again.
    void cut_back() const;
    [[nodiscard]] guard::Limits& limits() const { return *limits_; }
    [[nodiscard]] int accounts() const { return accounts_; }
    // Of the file of the accounts: others have another one.
    [[nodiscard]] ino_t accounts_inode() const { return accounts_inode_; }

  private:
    OpenRegion() = default;

    guard::Limits* limits_ = nullptr;
    int accounts_ = -1;
    ino_t limits_inode_ = 0;
    ino_t accounts_inode_ = 0;
};

// A container's region below a folder of pods.
struct RegionPath {
    std::string pod;  // its uid
    std::string container;
    std::filesystem::path path;
};

// Those that can be listed: pods may go meanwhile.
void for_each_region(const std::filesystem::path& pods,
                     const std::function<void(const RegionPath&)>& body);

// The card that a limit is of.
GpuUuid card_of(const guard::CardLimit& limit);

}  // namespace tessera
