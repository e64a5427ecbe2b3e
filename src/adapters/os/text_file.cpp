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

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::write(fd, text.data(), text.size());
        if (size < 0 && errno != EINTR) return false;
        if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed(path, errno);
    std::string text;
    std::array<char, 16 << 10> part{};
    ssize_t size = 0;
    while ((size = ::read(fd, part.data(), part.size())) != 0) {
        if (size > 0) {
            text.append(part.data(), static_cast<std::size_t>(size));
        } else if (errno != EINTR) {
            const int error = errno;
            ::close(fd);
            return failed(path, error);
        }
    }
    ::close(fd);
    return text;
}

Result<> check_writable(const std::string& path) {
    const bool is_file = is_replaced(path);
    const std::string target = is_file ? path + ".tmp" : path;
    const int flags = is_file ? O_CREAT : 0;
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0) return fail(Code::unavailable, fmt::format("{}: {}", path, std::strerror(errno)));
    ::close(fd);
    if (is_file) ::unlink(target.c_str());
    return {};
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
    const bool is_file = is_replaced(path);
    const std::string target = is_file ? path + ".tmp" : path;
    const int flags = is_file ? O_CREAT | O_TRUNC : 0;
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
    const bool written = fd >= 0 && write_all(fd, text) && (!is_file || ::fchmod(fd, 0644) == 0);
    const bool closed = fd >= 0 && ::close(fd) == 0;
    const bool is_done = written && closed;
    if (is_done && (!is_file || ::rename(target.c_str(), path.c_str()) == 0)) return {};
    const std::string why = std::strerror(errno);
    if (is_file) ::unlink(target.c_str());
    return fail(Code::unavailable, fmt::format("{}: {}", path, why));
}

}  // namespace tessera
