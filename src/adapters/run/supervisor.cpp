#include "adapters/run/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "adapters/run/run_arbiter.hpp"
#include "adapters/run/run_watch.hpp"
#include "adapters/run/signal_queue.hpp"

namespace tessera {
namespace {

// Pointers to the texts, as exec wants them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const std::string& text : texts)
        out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

struct ProgramCall {
    const std::vector<char*> words;
    const std::vector<char*> environment;
    int lock;  // it keeps this descriptor open
};

// In the process of the program. Only system calls from here on.
[[noreturn]] void become_program(const ProgramCall& call, const SupervisorEnds& ends,
                                 const sigset_t& mask) {
    ::close(ends.messages);
    char go = 0;
    ssize_t got = 0;
    while ((got = ::read(ends.begin, &go, 1)) < 0 && errno == EINTR) {
    }
    if (got != 1) _exit(0);
    ::fcntl(call.lock, F_SETFD, 0);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(call.words[0], call.words.data(), call.environment.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(ends.failure, &error, sizeof error);
    _exit(127);
}

// The terminal's signals are for tessera-run and the program, and its descriptors, too: a reader of
// the program's output must see its end.
void leave_terminal() {
    ::setsid();
    replace_by_null({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
    // A folder that is a process's own cannot be unmounted.
    [[maybe_unused]] const int changed = ::chdir("/");
}

void send(int to, const SupervisorMessage& message) {
    [[maybe_unused]] const ssize_t sent = ::send(to, &message, sizeof message, MSG_NOSIGNAL);
}

// Until no process of the run is left.
void watch(const RunFolder& folder, const NewRun& run, int messages, pid_t program) {
    const OwnedDescriptor signals = open_signals(signal_set({SIGCHLD}));
    const RunArbiter arbiter(folder);
    RunWatch watch(run.region(), program);
    bool has_reported = false;
    for (;;) {
        pollfd ready{.fd = signals.get(), .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, RunWatch::kPeriodMs);
        take_signals(signals, [](const signalfd_siginfo&) {});
        watch.look();
        if (!watch.has_children()) run.remove();
        if (watch.exit_status() && !has_reported) {
            send(messages, {.program = program,
                            .exit_status = *watch.exit_status(),
                            .others_live = watch.has_children(),
                            .use = watch.use()});
            has_reported = true;
        }
        if (!watch.has_children()) return;
    }
}

}  // namespace

void supervise(const RunProgram& program, const RunFolder& folder, const NewRun& run,
               const SupervisorEnds& ends, const sigset_t& program_mask) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const ProgramCall call{pointers_to(program.words), pointers_to(program.environment),
                           run.lock().get()};
    const pid_t pid = ::fork();
    if (pid == 0) become_program(call, ends, program_mask);
    ::close(ends.begin);
    ::close(ends.failure);
    if (pid < 0) _exit(1);
    send(ends.messages, {.program = pid, .use = {}});
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    leave_terminal();
    watch(folder, run, ends.messages, pid);
    _exit(0);
}

}  // namespace tessera
