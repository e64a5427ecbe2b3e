// What passes between the daemon and those that connect to it, and where they meet. This is not the
// vendor's protocol: only gpusim's programs speak it.
//
// After connecting, a peer sends one byte that says what it is. A front end then sends commands,
// each with a line end, and reads for each an AnswerHeader and that many bytes of text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim::mps {

inline constexpr char kFrontEnd = 'U';

struct AnswerHeader {
    std::uint32_t bytes = 0;
    std::uint32_t exit_status = 0;  // with which the front end must end; 0: it goes on
};

inline constexpr char kControl[] = "control";
inline constexpr char kControlPrivileged[] = "control_privileged";

// $CUDA_MPS_PIPE_DIRECTORY and $CUDA_MPS_LOG_DIRECTORY, or their defaults.
const char* pipe_directory();
const char* log_directory();

inline constexpr std::size_t kMaxMpsPath = 4096;
struct MpsPath {
    char text[kMaxMpsPath] = {};
};
// DIRECTORY/NAME; cut if it is too long, which no file system call accepts anyway.
MpsPath path_in(const char* directory, const char* name);

// A blocking stream socket, or -1 with errno.
int connect_to(const char* path);
// A non-blocking socket that listens at `path`, which must be free, or -1 with errno.
int listen_at(const char* path, unsigned mode);

// All bytes; false if the other side is gone.
bool send_all(int fd, const void* data, std::size_t bytes);
bool receive_all(int fd, void* data, std::size_t bytes);

}  // namespace gpusim::mps
