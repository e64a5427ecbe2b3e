#include "gpusim/mps/wire.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpusim::mps {
namespace {

const char* environment(const char* name, const char* fallback) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] != '\0' ? value : fallback;
}

bool fill_address(sockaddr_un& address, const char* path) {
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    std::memcpy(address.sun_path, path, length + 1);
    return true;
}

int close_after_error(int fd) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

}  // namespace

const char* pipe_directory() {
    return environment("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps");
}

const char* log_directory() {
    return environment("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps");
}

MpsPath path_in(const char* directory, const char* name) {
    MpsPath path;
    const int length = std::snprintf(path.text, sizeof path.text, "%s/%s", directory, name);
    if (length < 0) path.text[0] = '\0';
    return path;
}

bool connect_to(const char* path, int& fd) {
    fd = -1;
    sockaddr_un address = {};
    if (!fill_address(address, path)) return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const auto* name = reinterpret_cast<const sockaddr*>(&address);
    while (connect(fd, name, sizeof address) != 0) {
        if (errno == EINTR) continue;
        const int failed = fd;
        fd = -1;
        close_after_error(failed);
        return false;
    }
    return true;
}

bool means_no_daemon(int error) {
    return error == ENOENT || error == ENOTDIR || error == ECONNREFUSED || error == ENAMETOOLONG;
}

int bind_to(const char* path, unsigned mode) {
    sockaddr_un address = {};
    if (!fill_address(address, path)) return -1;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    const auto* name = reinterpret_cast<const sockaddr*>(&address);
    if (bind(fd, name, sizeof address) != 0 || chmod(path, mode) != 0) return close_after_error(fd);
    return fd;
}

bool send_all(int fd, const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t sent = send(fd, next, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
    return true;
}

bool receive_all(int fd, void* data, std::size_t bytes) {
    char* next = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = recv(fd, next, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        next += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace gpusim::mps
