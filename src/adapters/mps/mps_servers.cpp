#include "adapters/mps/mps_servers.hpp"

#include <fmt/format.h>
#include <sys/types.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kServer = "nvidia-cuda-mps-server";
constexpr std::string_view kControl = "nvidia-cuda-mps-control";
constexpr std::size_t kMostNameBytes = 15;  // of /proc/PID/comm
constexpr int kLooks = 100;
constexpr std::chrono::milliseconds kPause{20};

std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool has_short_name(pid_t pid) {
    const fs::path process = fs::path("/proc") / std::to_string(pid);
    return content(process / "comm") == std::string(kServer.substr(0, kMostNameBytes)) + "\n";
}

// Of the process, or of its parent, which is the daemon, if its own cannot be read: a server runs
// as the user of its clients.
std::string environment_of(pid_t pid) {
    const fs::path process = fs::path("/proc") / std::to_string(pid);
    std::string own = content(process / "environ");
    if (!own.empty()) return own;
    const std::string status = content(process / "status");
    constexpr std::string_view kParent = "\nPPid:\t";
    const std::size_t at = status.find(kParent);
    if (at == std::string::npos) return {};
    pid_t parent = 0;
    std::from_chars(status.data() + at + kParent.size(), status.data() + status.size(), parent);
    // An orphan's parent says nothing about its pipes.
    if (!is_mps_control(parent)) return {};
    return content(fs::path("/proc") / std::to_string(parent) / "environ");
}

// The first word of its command line. A process that has ended and is not reaped has none.
std::string program_of(pid_t pid) {
    const std::string line = content(fs::path("/proc") / std::to_string(pid) / "cmdline");
    return line.substr(0, line.find('\0'));
}

}  // namespace

Result<MpsServers> mps_servers_of(const fs::path& pipes) {
    const std::string variable = fmt::format("{}={}", kMpsPipesVariable, pipes.string());
    const std::vector<fs::path> processes = paths_in("/proc");
    if (processes.empty()) return fail(Code::unavailable, "/proc cannot be read");
    MpsServers found;
    for (const fs::path& process : processes) {
        const std::string name = process.filename();
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || end != name.data() + name.size()) continue;
        // The daemon and its front ends have the same short name.
        if (!has_short_name(pid) || program_of(pid).find(kServer) == std::string::npos) continue;
        const std::string environment = environment_of(pid);
        if (('\0' + environment).find('\0' + variable + '\0') != std::string::npos) {
            found.ours.push_back(pid);
        } else if (environment.empty() && has_short_name(pid)) {
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

bool is_mps_control(pid_t pid) {
    const std::string program = program_of(pid);
    return has_short_name(pid) && (program.empty() || program.find(kControl) != std::string::npos);
}

}  // namespace tessera
