#include "adapters/os/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

}  // namespace tessera
