#include "adapters/guard/open_region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "adapters/os/text_file.hpp"
#include "guard/region/accounts_reader.hpp"
#include "guard/region/limits.hpp"
#include "guard/region/uuid.hpp"

namespace fs = std::filesystem;

namespace tessera {
std::unique_ptr<OpenRegion> OpenRegion::open(const fs::path& region, ChangedLimits changed) {
    std::unique_ptr<OpenRegion> opened(new OpenRegion);
    const fs::path limits = region / guard::kLimitsName;
    // This must come first, so that limits that are created meanwhile are not mistaken for the
    // mapped ones.
    struct stat of_limits = {};
    if (stat(limits.c_str(), &of_limits) != 0) return nullptr;
    const bool is_ours = changed == ChangedLimits::all || of_limits.st_uid == geteuid();
    opened->limits_ =
        is_ours ? guard::change_limits(limits.c_str()) : guard::copy_limits(limits.c_str());
    const int how = changed == ChangedLimits::all ? O_RDWR : O_RDONLY | O_NOFOLLOW;
    opened->accounts_ =
        ::open((region / guard::kAccountsName).c_str(), how | O_NONBLOCK | O_CLOEXEC);
    if (opened->limits_ == nullptr || opened->accounts_ < 0) return nullptr;
    struct stat of_accounts = {};
    if (fstat(opened->accounts_, &of_accounts) != 0) return nullptr;
    if (changed == ChangedLimits::own && !S_ISREG(of_accounts.st_mode)) return nullptr;
    opened->changed_ = changed;
    opened->limits_inode_ = of_limits.st_ino;
    opened->accounts_inode_ = of_accounts.st_ino;
    return opened;
}

OpenRegion::~OpenRegion() {
    if (limits_ != nullptr) munmap(limits_, sizeof(guard::Limits));
    if (accounts_ >= 0) close(accounts_);
}

bool OpenRegion::is_still(const fs::path& region) const {
    struct stat of_limits = {};
    struct stat of_accounts = {};
    return stat((region / guard::kLimitsName).c_str(), &of_limits) == 0 &&
           stat((region / guard::kAccountsName).c_str(), &of_accounts) == 0 &&
           of_limits.st_ino == limits_inode_ && of_accounts.st_ino == accounts_inode_;
}

bool OpenRegion::has_sound_accounts() const {
    struct stat about = {};
    return guard::begins_as_accounts(accounts_) && fstat(accounts_, &about) == 0 &&
           about.st_size >= off_t{sizeof(guard::Accounts)};
}

void OpenRegion::cut_back() const {
    struct stat about = {};
    if (changed_ == ChangedLimits::own) return;
    if (fstat(accounts_, &about) == 0 && about.st_size > off_t{sizeof(guard::Accounts)} &&
        ftruncate(accounts_, sizeof(guard::Accounts)) != 0)
        return;  // the next call tries again
}

void for_each_region(const fs::path& pods, const std::function<void(const RegionPath&)>& body) {
    for (const fs::path& pod : paths_in(pods)) {
        for (const fs::path& region : paths_in(pod)) {
            // A resized pod has a file there, too.
            std::error_code error;
            if (fs::is_directory(region, error))
                body({pod.filename().string(), region.filename().string(), region});
        }
    }
}

GpuUuid gpu_of(const guard::GpuLimit& limit) {
    char uuid[guard::kUuidText + 1];
    guard::write_uuid(limit.uuid, uuid);
    return GpuUuid(uuid);
}

}  // namespace tessera
