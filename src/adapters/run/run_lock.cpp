#include "adapters/run/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestWait = 5min;
constexpr auto kPause = 5ms;
constexpr mode_t kReadable = 0644;
constexpr int kHighDescriptor = 200;

tl::unexpected<Error> failed(const std::filesystem::path& path) {
    return fail(Code::unavailable, fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

struct flock whole_file(short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

}  // namespace

// It is opened without O_CREAT first, which a sticky folder refuses for another user's file
// (fs.protected_regular). flock(2) needs no write access.
Result<OwnedDescriptor> open_lock_file(const std::filesystem::path& path) {
    constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    for (;;) {
        OwnedDescriptor found(::open(path.c_str(), O_RDONLY | kFlags));
        if (found.is_open()) return found;
        if (errno != ENOENT) return failed(path);
        OwnedDescriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | kFlags, kReadable));
        if (made.is_open()) {
            if (::fchmod(made.get(), kReadable) != 0) return failed(path);
            return made;
        }
        if (errno != EEXIST) return failed(path);
    }
}

bool try_lock(const OwnedDescriptor& file) {
    return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

Result<> lock_exclusively(const OwnedDescriptor& file, const std::filesystem::path& path) {
    const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
    while (!try_lock(file)) {
        if (errno != EWOULDBLOCK && errno != EINTR) return failed(path);
        if (std::chrono::steady_clock::now() > deadline) {
            return fail(Code::unavailable,
                        fmt::format("{} is locked by another process for minutes; find it with "
                                    "fuser {} and end it",
                                    path.string(), path.string()));
        }
        std::this_thread::sleep_for(kPause);
    }
    return {};
}

Result<OwnedDescriptor> make_run_lock(const std::filesystem::path& path) {
    const OwnedDescriptor made(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kReadable));
    if (!made.is_open()) return failed(path);
    struct flock lock = whole_file(F_WRLCK);
    if (::fchmod(made.get(), kReadable) != 0 || ::fcntl(made.get(), F_OFD_SETLK, &lock) != 0)
        return failed(path);
    OwnedDescriptor high(::fcntl(made.get(), F_DUPFD_CLOEXEC, kHighDescriptor));
    if (!high.is_open()) high = OwnedDescriptor(::fcntl(made.get(), F_DUPFD_CLOEXEC, 3));
    if (!high.is_open()) return failed(path);
    return high;
}

RunLockState run_lock_state(const std::filesystem::path& path) {
    const OwnedDescriptor file(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open()) return errno == ENOENT ? RunLockState::missing : RunLockState::locked;
    struct flock lock = whole_file(F_WRLCK);
    const bool is_free = ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    return is_free ? RunLockState::free : RunLockState::locked;
}

}  // namespace tessera
