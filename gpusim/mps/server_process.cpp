#include "gpusim/mps/server_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {
namespace {

constexpr char kProgram[] = "nvidia-cuda-mps-server";

bool server_program(MpsPath& program) {
    MpsPath self;
    const ssize_t length = readlink("/proc/self/exe", self.text, sizeof self.text - 1);
    if (length <= 0) return false;
    char* slash = std::strrchr(self.text, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
    program = path_in(self.text, kProgram);
    return true;
}

// Only what may be called between fork and exec.
[[noreturn]] void become_server(const ServerPlan& plan, const char* program, int channel) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.output_fd >= 0) dup2(plan.output_fd, STDOUT_FILENO);
    if (channel == kServerChannel) {
        fcntl(channel, F_SETFD, 0);
    } else {
        dup2(channel, kServerChannel);
    }
    if (plan.uid != geteuid() && setuid(plan.uid) != 0) _exit(1);
    char* const arguments[] = {const_cast<char*>(kProgram), nullptr};
    execv(program, arguments);
    _exit(1);
}

}  // namespace

ServerProcess start_server_process(const ServerPlan& plan, const Log& log) {
    ServerProcess server;
    server.pid = -1;
    MpsPath program;
    int ends[2] = {-1, -1};
    if (!server_program(program) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        log.line("Failed to start server using uid %d. %s", static_cast<int>(plan.uid),
                 std::strerror(errno));
        return server;
    }
    server.pid = fork();
    if (server.pid == 0) become_server(plan, program.text, ends[1]);
    close(ends[1]);
    if (server.pid < 0) {
        close(ends[0]);
        return server;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    server.channel = ends[0];
    log.line("Starting new server %d for user %d", server.pid, static_cast<int>(plan.uid));
    return server;
}

}  // namespace gpusim::mps
