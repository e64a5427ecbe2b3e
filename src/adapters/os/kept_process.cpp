#include "adapters/os/kept_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace tessera {
namespace {

constexpr int kSignalBase = 128;  // the exit status of a process that a signal ended, as in a shell
constexpr timespec kPause{.tv_sec = 1, .tv_nsec = 0};

class Parent {
  public:
    Parent() {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        ::sigemptyset(&signals_);
        for (const int signal : {SIGTERM, SIGINT, SIGCHLD})
            ::sigaddset(&signals_, signal);
        ::sigprocmask(SIG_BLOCK, &signals_, &before_);
    }

    // The child's process id; in the child it does not return.
    pid_t start(const std::function<int()>& body) {
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child != 0) return child;
        // Two parents would pass on signals to two children.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (::getppid() != parent) std::exit(kSignalBase + SIGKILL);
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
        std::exit(body());
    }

    // Waits until the child has ended, and returns its exit status.
    int wait_for(pid_t child) {
        while (true) {
            if (const auto status = reap(child)) return *status;
            const int signal = ::sigwaitinfo(&signals_, nullptr);
            if (signal != SIGTERM && signal != SIGINT) continue;
            is_stopping_ = true;
            ::kill(child, signal);
        }
    }

    // Whether another child may start.
    bool pause() {
        // The end of an orphan does not shorten the pause.
        sigset_t ends = signals_;
        ::sigdelset(&ends, SIGCHLD);
        if (!is_stopping_ && ::sigtimedwait(&ends, nullptr, &kPause) > 0) is_stopping_ = true;
        return !is_stopping_;
    }

  private:
    // Of all children that have ended, which are also those that the child left. Nothing if the
    // child lives.
    static std::optional<int> reap(pid_t child) {
        std::optional<int> found;
        int status = 0;
        for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended != child) continue;
            found = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
        }
        return found;
    }

    sigset_t signals_{};
    sigset_t before_{};
    bool is_stopping_ = false;
};

}  // namespace

int keep_process(const std::function<int()>& body, const std::set<int>& final) {
    Parent parent;
    while (true) {
        const pid_t child = parent.start(body);
        const int status = child > 0 ? parent.wait_for(child) : EXIT_FAILURE;
        if (final.contains(status) || !parent.pause()) return status;
    }
}

}  // namespace tessera
