#include "gpusim/mps/daemon.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "gpusim/mps/event_loop.hpp"
#include "gpusim/mps/pipe_directory.hpp"
#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {
namespace {

void say(const char* format, const char* value) {
    std::printf(format, value);
    std::fflush(stdout);
}

// -d has its log in files, -f on stdout. Both warn if the directory is of no use.
void open_logs(Mode mode, EventLoop::Plan& plan) {
    const char* directory = log_directory();
    mkdir(directory, 0755);
    if (access(directory, W_OK | X_OK) != 0) {
        say("Warning: Failed writing log files to directory [%s]. No logs will be available.\n",
            directory);
    }
    plan.log.fd = STDOUT_FILENO;
    if (mode == Mode::foreground) return;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    plan.log.fd = open(path_in(directory, "control.log").text, kFlags, 0644);
    plan.server_output_fd = open(path_in(directory, "server.log").text, kFlags, 0644);
}

bool claim_directory(PipeDirectory& directory, Version version) {
    switch (claim(directory, pipe_directory(), version)) {
        case Claim::made:
            return true;
        case Claim::not_accessible:
            say("Cannot access CUDA_MPS_PIPE_DIRECTORY=%s\n", pipe_directory());
            return false;
        case Claim::already_running:
            say("An instance of this daemon is already running%s", "\n");
            return false;
    }
    return false;
}

void leave_terminal() {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        dup2(null, fd);
    close(null);
}

// Returns a descriptor to which the child writes a byte when it serves; in the caller's process it
// does not return, but ends with the child's result.
int detach() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) _exit(1);
    const pid_t child = fork();
    if (child < 0) _exit(1);
    if (child > 0) {
        close(ends[1]);
        char byte = 0;
        _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    }
    close(ends[0]);
    setsid();
    return ends[1];
}

}  // namespace

int run_daemon(const DaemonPlan& plan) {
    const int started_fd = plan.mode == Mode::background ? detach() : -1;
    static PipeDirectory directory;
    EventLoop::Plan loop_plan;
    loop_plan.version = plan.version;
    loop_plan.directory = &directory;
    open_logs(plan.mode, loop_plan);
    if (!claim_directory(directory, plan.version)) return 1;
    const MpsPath control = path_in(directory.path, kControl);
    loop_plan.log.line("Starting control daemon using socket %s", control.text);
    loop_plan.log.line(
        "To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY=%s",
        directory.path);
    if (started_fd >= 0) {
        leave_terminal();
        if (write(started_fd, "", 1) != 1) return 1;
        close(started_fd);
    }
    static EventLoop loop(loop_plan);
    return loop.run();
}

}  // namespace gpusim::mps
