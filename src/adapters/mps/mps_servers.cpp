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

// The first word of its command line. A process that has ended and is not reaped has none.
std::string program_of(pid_t pid) {
    const std::string line = content(fs::path("/proc") / std::to_string(pid) / "cmdline");
    return line.substr(0, line.find('\0'));
}

}  // namespace

std::vector<pid_t> mps_servers_of(const fs::path& pipes) {
    const std::string variable = fmt::format("{}={}", kMpsPipesVariable, pipes.string());
    std::vector<pid_t> found;
    for (const fs::path& process : paths_in("/proc")) {
        const std::string name = process.filename();
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || end != name.data() + name.size()) continue;
        // The daemon and its front ends have the same short name.
        if (!has_short_name(pid) || program_of(pid).find(kServer) == std::string::npos) continue;
        const std::string environment = content(process / "environ");
        const bool is_ours = ('\0' + environment).find('\0' + variable + '\0') != std::string::npos;
        if (is_ours || environment.empty()) found.push_back(pid);
    }
    return found;
}

Result<> end_mps_servers(const fs::path& pipes) {
    std::vector<pid_t> left = mps_servers_of(pipes);
    for (int look = 0; look < kLooks && !left.empty(); look++) {
        for (const pid_t server : left)
            ::kill(server, SIGKILL);
        std::this_thread::sleep_for(kPause);
        left = mps_servers_of(pipes);
    }
    if (left.empty()) return {};
    return fail(Code::unavailable,
                fmt::format("the MPS server {} does not end by SIGKILL; if it stays, the GPU needs "
                            "a reset",
                            left.front()));
}

bool is_mps_control(pid_t pid) {
    const std::string program = program_of(pid);
    return has_short_name(pid) && (program.empty() || program.find(kControl) != std::string::npos);
}

}  // namespace tessera
