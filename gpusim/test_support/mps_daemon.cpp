#include "gpusim/test_support/mps_daemon.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace gpusim {

MpsDaemon::MpsDaemon(const SimulatedNode& node)
    : program_((node.root() / kProgramDir / "nvidia-cuda-mps-control").string()) {
    const auto pipes = node.root() / "mps";
    std::filesystem::create_directory(pipes);
    setenv("CUDA_MPS_PIPE_DIRECTORY", pipes.c_str(), 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", pipes.c_str(), 1);
    process_ = std::make_unique<ChildProcess>([this, pipes](Wire&) {
        if (std::freopen((pipes / "daemon.log").c_str(), "w", stdout) == nullptr) return;
        execl(program_.c_str(), program_.c_str(), "-f", nullptr);
    });
    while (run("get_server_list").status != 0)
        sched_yield();
}

MpsDaemon::~MpsDaemon() {
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    unsetenv("CUDA_MPS_LOG_DIRECTORY");
}

CommandResult MpsDaemon::run(const std::string& line) const {
    return result_of("echo '" + line + "' | " + program_ + " 2>&1");
}

std::string MpsDaemon::command(const std::string& line) const {
    const CommandResult result = run(line);
    if (result.status != 0) throw std::runtime_error(line + ": " + result.output);
    return result.output;
}

std::string MpsDaemon::server() const {
    command("start_server -uid " + std::to_string(getuid()));
    std::string pid = command("get_server_list");
    while (!pid.empty() && pid.back() == '\n')
        pid.pop_back();
    return pid;
}

void MpsDaemon::wait_for(const std::string& line, const std::string& answer) const {
    while (command(line) != answer)
        sched_yield();
}

}  // namespace gpusim
