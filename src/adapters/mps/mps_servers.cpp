#include "adapters/mps/mps_servers.hpp"

#include <fmt/format.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/os/proc_table.hpp"
#include "adapters/os/text_file.hpp"
#include "wire/node/process_status.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kServer = "nvidia-cuda-mps-server";
constexpr std::size_t kMostNameBytes = 15;  // of /proc/PID/comm
constexpr int kLooks = 100;
constexpr std::chrono::milliseconds kPause{20};

// Empty if it cannot be read: the process may have ended.
std::string of_process(std::int64_t pid, std::string_view file) {
    return read_text_file(fmt::format("/proc/{}/{}", pid, file)).value_or("");
}

bool has_short_name(std::int64_t pid) {
    return of_process(pid, "comm") == std::string(kServer.substr(0, kMostNameBytes)) + "\n";
}

// Of the process, or of its parent, which is the daemon, if its own cannot be read: a server runs
// as the user of its clients.
std::string environment_of(pid_t pid) {
    std::string own = of_process(pid, "environ");
    if (!own.empty()) return own;
    const auto parent = parent_pid(of_process(pid, "status"));
    // An orphan's parent says nothing about its pipes.
    return parent && is_mps_control(*parent) ? of_process(*parent, "environ") : "";
}

// The first word of its command line. A process that has ended and is not reaped has none.
std::string program_of(std::int64_t pid) {
    const std::string line = of_process(pid, "cmdline");
    return line.substr(0, line.find('\0'));
}

}  // namespace

Result<MpsServers> mps_servers_of(const fs::path& pipes) {
    const std::string variable = fmt::format("{}={}", kMpsPipesVariable, pipes.string());
    const std::vector<pid_t> processes = process_ids();
    if (processes.empty()) return fail(Code::unavailable, "/proc cannot be read");
    MpsServers found;
    for (const pid_t pid : processes) {
        // The daemon and its front ends have the same short name.
        if (!has_short_name(pid) || program_of(pid).find(kServer) == std::string::npos) continue;
        const std::string environment = environment_of(pid);
        if (('\0' + environment).find('\0' + variable + '\0') != std::string::npos) {
            found.ours.push_back(pid);
        } else if (environment.empty() && has_short_name(pid)) {  // it has not ended meanwhile
            found.unknown.push_back(pid);
        }
    }
    return found;
}

Result<> end_mps_servers(const fs::path& pipes) {
    TRY(MpsServers left, mps_servers_of(pipes));
    for (int look = 0; look < kLooks && !left.ours.empty(); look++) {
        for (const pid_t server : left.ours)
            ::kill(server, SIGKILL);
        std::this_thread::sleep_for(kPause);
        TRY(left, mps_servers_of(pipes));
    }
    if (!left.ours.empty()) {
        return fail(Code::unavailable,
                    fmt::format("the MPS server {} does not end by SIGKILL; if it stays, the GPU "
                                "needs a reset",
                                left.ours.front()));
    }
    if (left.unknown.empty()) return {};
    return fail(Code::unavailable,
                fmt::format("it cannot be known which GPU the MPS server {} has; give tessera-mps "
                            "the capability SYS_PTRACE",
                            left.unknown.front()));
}

bool is_mps_control(std::int64_t pid) {
    const std::string program = program_of(pid);
    return has_short_name(pid) &&
           (program.empty() || program.find(kMpsControl) != std::string::npos);
}

}  // namespace tessera
