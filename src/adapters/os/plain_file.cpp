#include "adapters/os/plain_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adapters/os/descriptor.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> refused(const std::string& path, int error) {
    if (error == ELOOP || error == ENOTDIR) {
        return fail(Code::invalid_argument,
                    fmt::format("{}: a part of the path is a symbolic link or no folder", path));
    }
    return fail(error == ENOENT ? Code::not_found : Code::unavailable,
                fmt::format("{}: {}", path, std::strerror(error)));
}

// Opens the path part by part: openat2(2), which does this in one call, needs Linux 5.6.
int open_without_links(const std::string& path) {
    Descriptor at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (std::size_t begin = 1; at.get() >= 0;) {
        const std::size_t slash = path.find('/', begin);
        const std::string part = path.substr(begin, slash - begin);
        if (slash == std::string::npos)
            return ::openat(at.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (!part.empty()) {
            at.replace(
                ::openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        }
        begin = slash + 1;
    }
    return -1;
}

}  // namespace

Result<std::string> read_plain_file(const std::string& path, std::size_t most) {
    if (!path.starts_with('/'))
        return fail(Code::invalid_argument, fmt::format("{}: not an absolute path", path));
    const Descriptor file(open_without_links(path));
    struct stat about = {};
    if (file.get() < 0 || ::fstat(file.get(), &about) != 0) return refused(path, errno);
    if (!S_ISREG(about.st_mode))
        return fail(Code::invalid_argument, fmt::format("{}: not a regular file", path));
    return read_to_end(file.get(), path, most);
}

}  // namespace tessera
