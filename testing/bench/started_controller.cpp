#include "testing/bench/started_controller.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "base/check.hpp"
#include "testing/bench/raw_http.hpp"

extern char** environ;

namespace tessera::bench {
namespace {

// A benchmark that fails ends with std::exit, which calls no destructors of local objects.
std::set<pid_t>& running() {
    static std::set<pid_t> pids;
    return pids;
}

void end_with_this_process(pid_t pid) {
    if (running().empty()) {
        std::atexit([] {
            for (const pid_t left : running())
                ::kill(left, SIGTERM);
        });
    }
    running().insert(pid);
}

}  // namespace

StartedController::StartedController(const std::string& program, int api_port,
                                     std::vector<std::string> options)
    : port_(free_port()),
      path_(std::filesystem::temp_directory_path() /
            fmt::format("tessera-bench-{}-{}", ::getpid(), port_)) {
    std::ofstream(path_) << fmt::format(
        "{{current-context: x, contexts: [{{name: x, context: {{cluster: c, user: u}}}}], users: "
        "[{{name: u, user: {{token: t}}}}], clusters: [{{name: c, cluster: {{server: "
        "\"http://127.0.0.1:{}\"}}}}]}}",
        api_port);
    options.insert(options.begin(),
                   {program, "--kubeconfig=" + path_.string(), fmt::format("--port={}", port_),
                    "--health-port=0", "--open-reads"});
    std::vector<char*> arguments;
    for (std::string& option : options)
        arguments.push_back(option.data());
    arguments.push_back(nullptr);
    TESSERA_CHECK(
        ::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments.data(), environ) == 0,
        "start tessera-controller");
    end_with_this_process(pid_);
    wait_ready();
}

StartedController::~StartedController() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    running().erase(pid_);
    std::filesystem::remove(path_);
}

void StartedController::wait_idle() const {
    constexpr double kIdle = 0.02;  // of a core
    constexpr int kSeconds = 3;     // consecutive
    int idle_seconds = 0;
    for (double before = cpu_seconds(); idle_seconds < kSeconds;) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const double now = cpu_seconds();
        idle_seconds = now - before < kIdle ? idle_seconds + 1 : 0;
        before = now;
    }
}

double StartedController::cpu_ms() const {
    double ns = 0;
    const auto tasks = fmt::format("/proc/{}/task", pid_);
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        double of_task = 0;
        std::ifstream(task.path() / "schedstat") >> of_task;
        ns += of_task;
    }
    return ns / 1e6;
}

double StartedController::rss_mb() const {
    std::ifstream status(fmt::format("/proc/{}/status", pid_));
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
}

// Source: /proc/PID/stat, utime and stime, which come after the name in parentheses.
double StartedController::cpu_seconds() const {
    std::ifstream file(fmt::format("/proc/{}/stat", pid_));
    std::string skipped;
    std::getline(file, skipped, ')');
    for (int field = 3; field < 14; ++field)
        file >> skipped;
    double user = 0;
    double system = 0;
    file >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void StartedController::wait_ready() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < deadline) {
        const int fd = connect_to(port_);
        if (fd >= 0) {
            Wire wire(fd);
            wire.send(get("/readyz"));
            if (wire.receive().head.starts_with("HTTP/1.1 200")) return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    TESSERA_CHECK(false, "the controller is ready within two minutes");
}

}  // namespace tessera::bench
