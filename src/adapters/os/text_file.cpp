#include "adapters/os/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace tessera {
namespace {

tl::unexpected<Error> failed(const std::string& path, int error) {
    return fail(error == ENOENT ? Code::not_found : Code::unavailable,
                fmt::format("{}: {}", path, std::strerror(error)));
}

// A device or a pipe is written to, not replaced.
bool is_replaced(const std::string& path) {
    struct stat there = {};
    return ::stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode);
}

// The file that is written: a temporary file beside the named one, or the named one itself. A
// temporary name never replaces another file.
struct Target {
    bool is_file;
    std::string path;
    int fd;

    explicit Target(const std::string& named) : is_file(is_replaced(named)), path(named) {
        if (is_file) {
            path += ".XXXXXX";
            fd = ::mkostemp(path.data(), O_CLOEXEC);
        } else {
            fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        }
    }
    void remove() const {
        if (is_file && fd >= 0) ::unlink(path.c_str());
    }
};

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::write(fd, text.data(), text.size());
        if (size < 0 && errno != EINTR) return false;
        if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

// A rename survives a loss of power only if the folder is synced. Without an fsync of the text, the
// name may survive with an empty file.
bool sync_folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int fd =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES;  // a folder with write but no read permission
    const bool is_done =
        ::fsync(fd) == 0 || errno == EINVAL;  // a file system that cannot sync folders
    const int error = errno;
    ::close(fd);
    errno = error;
    return is_done;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
    return read_text_file_up_to(path, kMostTextBytes);
}

Result<std::string> read_text_file_up_to(const std::string& path, std::size_t most) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed(path, errno);
    auto text = read_to_end(fd, path, most);
    ::close(fd);
    return text;
}

Result<std::string> read_to_end(int fd, const std::string& path, std::size_t most) {
    std::string text;
    std::array<char, 16 << 10> part{};
    ssize_t size = 0;
    while ((size = ::read(fd, part.data(), part.size())) != 0) {
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return failed(path, errno);
        text.append(part.data(), static_cast<std::size_t>(size));
        if (text.size() > most) {
            return fail(Code::invalid_argument,
                        fmt::format("{}: is larger than {} bytes, the most that is read of a file",
                                    path, most));
        }
    }
    return text;
}

std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> out;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error);
         !error && it != std::filesystem::directory_iterator(); it.increment(error))
        out.push_back(it->path());
    return out;
}

Result<> check_writable(const std::string& path) {
    const Target target(path);
    if (target.fd < 0) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: {}; name a file in a folder in which you may write", path,
                                std::strerror(errno)));
    }
    ::close(target.fd);
    target.remove();
    return {};
}

bool is_same_file(const std::string& one, const std::string& other) {
    std::error_code error;
    return std::filesystem::is_regular_file(one, error) &&
           std::filesystem::equivalent(one, other, error);
}

std::vector<std::string> files_in(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<std::string> out;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        std::error_code of_file;
        if (at->is_regular_file(of_file))
            out.push_back(at->path().lexically_relative(folder).string());
        if (at.depth() > 0) at.disable_recursion_pending();
    }
    return out;
}

Result<> write_text_file(const std::string& path, const std::string& text) {
    const Target target(path);
    const int fd = target.fd;
    const bool written =
        fd >= 0 && write_all(fd, text) &&
        (!target.is_file || (::fchmod(fd, 0644) == 0 && (::fsync(fd) == 0 || errno == EINVAL)));
    const int error = errno;
    const bool closed = fd >= 0 && ::close(fd) == 0;
    if (!written) errno = error;  // the first failure is reported
    if (written && closed && !target.is_file) return {};
    if (written && closed && ::rename(target.path.c_str(), path.c_str()) == 0) {
        if (sync_folder_of(path)) return {};
        return fail(Code::unavailable,
                    fmt::format("{}: its folder cannot be synced: {}", path, std::strerror(errno)));
    }
    const std::string why = std::strerror(errno);
    target.remove();
    return fail(Code::unavailable, fmt::format("{}: {}", path, why));
}

}  // namespace tessera
