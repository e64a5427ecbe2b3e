#include "guard/region/descriptor_files.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstring>

#include "guard/region/named_descriptor.hpp"

namespace tessera::guard {
namespace {

constexpr std::uint32_t kClaimed =
    1;  // by a process that writes it, or that was killed before the end
constexpr std::uint32_t kWritten = 2;
constexpr std::size_t kPathBytes = sizeof DescriptorFile::path;

struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const FileId&, const FileId&) = default;
};

// Not fstat(): a library that is built against a newer libc does not find it in an older one.
bool find_id(int fd, FileId& id) {
    struct stat about = {};
    if (syscall(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH) != 0) return false;
    id = {about.st_dev, about.st_ino};
    return true;
}

FileId id_of(const DescriptorFile& file) {
    return {file.device.load(), file.inode.load()};
}

int find_file(const Accounts& accounts, const FileId& id) {
    for (int i = 0; i < kMaxDescriptorFiles; i++) {
        const DescriptorFile& file = accounts.descriptor_files[i];
        if (file.state.load() == kWritten && id_of(file) == id) return i + 1;
    }
    return 0;
}

// Null if there is no file with that number: tenants can write any number.
const DescriptorFile* at(const Accounts& accounts, int number) {
    if (number < 1 || number > kMaxDescriptorFiles) return nullptr;
    const DescriptorFile& file = accounts.descriptor_files[number - 1];
    return file.state.load() == kWritten ? &file : nullptr;
}

// Does not block on a pipe, and does not make a terminal our controlling terminal.
constexpr int kToAsk = O_RDONLY | O_NONBLOCK | O_NOCTTY;

bool is_at(const char* path, const FileId& id) {
    const Opened file(path, kToAsk);
    FileId found;
    return file.fd() >= 0 && find_id(file.fd(), found) && found == id;
}

bool find_path(int fd, char (&path)[kPathBytes]) {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, kPathBytes - 1);
    if (length <= 0 || length == ssize_t{kPathBytes - 1}) return false;
    path[length] = '\0';
    return true;
}

}  // namespace

int file_of(Accounts& accounts, int fd) {
    FileId id;
    if (!find_id(fd, id)) return 0;
    if (const int known = find_file(accounts, id); known != 0) return known;
    char path[kPathBytes] = {};
    if (!find_path(fd, path) || !is_at(path, id)) return 0;
    for (int i = 0; i < kMaxDescriptorFiles; i++) {
        DescriptorFile& file = accounts.descriptor_files[i];
        std::uint32_t free = 0;
        if (!file.state.compare_exchange_strong(free, kClaimed)) continue;
        std::memcpy(file.path, path, sizeof path);
        file.device.store(id.device);
        file.inode.store(id.inode);
        file.state.store(kWritten);
        return i + 1;
    }
    return 0;
}

bool is_of_file(const Accounts& accounts, int file, int fd) {
    const DescriptorFile* known = at(accounts, file);
    FileId id;
    return known != nullptr && find_id(fd, id) && id_of(*known) == id;
}

bool DescriptorAsker::may_be_open(int file, std::uint64_t key) {
    const DescriptorFile* known = at(accounts_, file);
    if (known == nullptr) return true;
    if (number_ != file) {
        char path[kPathBytes];
        std::memcpy(path, known->path, sizeof path);
        path[sizeof path - 1] = '\0';
        number_ = file;
        opened_.emplace(path, kToAsk);
    }
    if (opened_->fd() < 0 || !is_of_file(accounts_, file, opened_->fd())) return true;
    return is_anyones_name(opened_->fd(), key);
}

}  // namespace tessera::guard
