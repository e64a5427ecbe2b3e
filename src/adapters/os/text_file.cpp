#include "adapters/os/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tessera {
namespace {

tl::unexpected<Error> failed(const std::string& path, int error) {
    return fail(error == ENOENT ? Code::not_found : Code::unavailable,
                fmt::format("{}: {}", path, std::strerror(error)));
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

Result<> write_text_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".tmp";
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool written =
        fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fchmod(fd, 0644) == 0;
    const bool closed = fd >= 0 && ::close(fd) == 0;
    if (written && closed && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
    const std::string why = std::strerror(errno);
    ::unlink(temporary.c_str());
    return fail(Code::unavailable, fmt::format("{}: {}", path, why));
}

}  // namespace tessera
