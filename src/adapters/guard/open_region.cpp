#include "adapters/guard/open_region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/region/limits.hpp"
#include "guard/region/uuid.hpp"

namespace fs = std::filesystem;

namespace tessera {

std::unique_ptr<OpenRegion> OpenRegion::open(const fs::path& region) {
    std::unique_ptr<OpenRegion> opened(new OpenRegion);
    const fs::path limits = region / guard::kLimitsName;
    opened->limits_ = guard::change_limits(limits.c_str());
    opened->accounts_ =
        ::open((region / guard::kAccountsName).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct stat about = {};
    if (opened->limits_ == nullptr || opened->accounts_ < 0 || stat(limits.c_str(), &about) != 0)
        return nullptr;
    opened->inode_ = about.st_ino;
    return opened;
}

OpenRegion::~OpenRegion() {
    if (limits_ != nullptr) munmap(limits_, sizeof(guard::Limits));
    if (accounts_ >= 0) close(accounts_);
}

bool OpenRegion::is_still(const fs::path& region) const {
    struct stat about = {};
    return stat((region / guard::kLimitsName).c_str(), &about) == 0 && about.st_ino == inode_;
}

void OpenRegion::cut_back() const {
    struct stat about = {};
    if (fstat(accounts_, &about) == 0 && about.st_size > off_t{sizeof(guard::Accounts)} &&
        ftruncate(accounts_, sizeof(guard::Accounts)) != 0)
        return;  // the next look tries again
}

void for_each_region(const fs::path& pods, const std::function<void(const RegionPath&)>& body) {
    std::error_code error;
    for (const auto& pod : fs::directory_iterator(pods, error)) {
        for (const auto& region : fs::directory_iterator(pod.path(), error))
            body(
                {pod.path().filename().string(), region.path().filename().string(), region.path()});
    }
}

GpuUuid card_of(const guard::CardLimit& limit) {
    char uuid[guard::kUuidText + 1];
    guard::write_uuid(limit.uuid, uuid);
    return GpuUuid(uuid);
}

}  // namespace tessera
