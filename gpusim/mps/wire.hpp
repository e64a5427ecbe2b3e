// What passes between the daemon and those that connect to it, and where they meet. This is not the
// vendor's protocol: only gpusim's programs speak it.
//
// After connecting, a peer sends one byte that says what it is. A front end then sends commands,
// each with a line end, and reads for each an AnswerHeader and that many bytes of text. A client,
// which is libcuda in a program, waits for a Welcome. Then it sends Reports, and finds a Notice
// when the daemon has ended it. The end of the connection is the end of the client.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim::mps {

inline constexpr int kMaxDevices = 32;

inline constexpr char kFrontEnd = 'U';
inline constexpr char kClient = 'C';

struct AnswerHeader {
    std::uint32_t bytes = 0;
    std::uint32_t exit_status = 0;  // with which the front end must end; 0: it goes on
};

// The GPUs of a server in the order of its ordinals, by their index on the node.
struct ServerGpus {
    std::uint32_t count = 0;
    std::uint32_t gpus[kMaxDevices] = {};
};

// What a server sends through its channel when it is ready.
struct ServerReady {
    std::uint64_t state_id = 0;  // GpusFile::id, of the node to which the numbers belong
    std::uint64_t number = 0;    // Slot::mps_server
    ServerGpus gpus;
    std::uint32_t unused = 0;
};

// What the daemon sends through a server's channel when it has ended a client.
struct EndedClient {
    std::int32_t pid = 0;
    std::int32_t slot = 0;
    std::uint32_t is_culprit = 0;  // it had the fatal error that ends the server's clients
};

// Of everything that passes between libcuda and the daemon. Raise it with each change.
inline constexpr std::uint32_t kWireVersion = 3;

struct WelcomeHead {
    std::uint32_t version = kWireVersion;  // another one: nothing after it can be read
    std::uint32_t error = 0;  // a CUresult; if it is not CUDA_SUCCESS, the rest is zero
};

struct Welcome {
    WelcomeHead head;
    std::uint64_t state_id = 0;  // as in ServerReady
    std::uint64_t server = 0;    // Slot::mps_server
    ServerGpus gpus;
    std::uint32_t unused_2 = 0;
    double active_thread_percentage = 100;
    std::uint64_t pinned_limit_bytes[kMaxDevices] = {};  // by the server's ordinal; 0: no limit
};

enum class Event : std::uint32_t { context_made, context_ended, fault };

// A GPU as answers show it.
struct GpuName {
    char uuid[48] = {};
    char model[96] = {};
};

struct Report {
    Event event = Event::context_made;
    std::uint32_t context = 0;  // 1, 2, ... in the client
    std::uint32_t gpu = 0;      // its index on the node
    std::uint32_t error = 0;    // of a fault: the CUresult that every client gets
    std::int32_t slot = 0;      // of the client, in GpusFile
    GpuName name;               // of a context that was made
};

// Every call of the client fails with this CUresult from now on.
struct Notice {
    std::uint32_t error = 0;
    std::uint32_t unused = 0;
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

// Connects a blocking stream socket. `fd` is the socket also while this waits, so that a fork child
// can close it. On failure it is -1, with errno.
bool connect_to(const char* path, int& fd);
// Whether that errno says that no daemon can be there. Others, as for want of a descriptor, do not.
bool means_no_daemon(int error);
// A non-blocking socket at `path`, which must be free, or -1 with errno. It does not listen yet.
int bind_to(const char* path, unsigned mode);

// All bytes; false if the other side is gone.
bool send_all(int fd, const void* data, std::size_t bytes);
bool receive_all(int fd, void* data, std::size_t bytes);

}  // namespace gpusim::mps
