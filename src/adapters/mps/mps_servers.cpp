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
constexpr std::size_t kMostNameBytes = 15;  // of /proc/PID/comm
constexpr int kLooks = 100;
constexpr std::chrono::milliseconds kPause{20};

std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A process that has ended and is not reaped has no environment, so it is not among them.
std::vector<pid_t> servers_of(const fs::path& pipes) {
    const std::string variable = fmt::format("CUDA_MPS_PIPE_DIRECTORY={}", pipes.string());
    std::vector<pid_t> found;
    for (const fs::path& process : paths_in("/proc")) {
        const std::string name = process.filename();
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc() || end != name.data() + name.size()) continue;
        if (content(process / "comm") != std::string(kServer.substr(0, kMostNameBytes)) + "\n")
            continue;
        // The daemon and its front ends have the same short name.
        const std::string program = content(process / "cmdline");
        if (std::string_view(program.c_str()).find(kServer) == std::string_view::npos) continue;
        const std::string environment = '\0' + content(process / "environ");
        if (environment.find('\0' + variable + '\0') != std::string::npos) found.push_back(pid);
    }
    return found;
}

}  // namespace

void end_mps_servers(const fs::path& pipes) {
    for (int look = 0; look < kLooks; look++) {
        const std::vector<pid_t> servers = servers_of(pipes);
        if (servers.empty()) return;
        for (const pid_t server : servers)
            ::kill(server, SIGKILL);
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace tessera
