#include "adapters/run/run_processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/os/system_clock.hpp"
#include "adapters/run/run_arbiter.hpp"
#include "adapters/run/run_watch.hpp"
#include "adapters/run/signal_queue.hpp"
#include "adapters/run/supervisor.hpp"

namespace tessera {
namespace {

// Which signals tessera-run passes on. SIGTSTP stops it with the program, as the shell expects.
const sigset_t& handled_signals() {
    static const sigset_t set =
        signal_set({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE});
    return set;
}

tl::unexpected<Error> no_process() {
    return fail(Code::unavailable, fmt::format("no process can be made: {}; end other programs, or "
                                               "raise ulimit -u and -n",
                                               std::strerror(errno)));
}

struct Pair {
    OwnedDescriptor ours;
    OwnedDescriptor theirs;
};

Result<Pair> make_socket() {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0)
        return no_process();
    return Pair{OwnedDescriptor(fds[0]), OwnedDescriptor(fds[1])};
}

std::int64_t now_ns() {
    return SystemClock().steady().count();
}

}  // namespace

Result<RunProcesses> RunProcesses::start(const RunProgram& program, const RunFolder& folder,
                                         NewRun run, const OwnedDescriptor& folder_lock) {
    RunProcesses out(folder, std::move(run));
    if (auto forked = out.fork_processes(program, folder_lock); !forked) {
        out.run_.remove();
        return fail(forked.error());
    }
    out.program_fd_ = OwnedDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, out.program_, 0)));
    out.started_ns_ = now_ns();
    return out;
}

Result<> RunProcesses::fork_processes(const RunProgram& program,
                                      const OwnedDescriptor& folder_lock) {
    name_ = program.words.front();
    TRY(Pair messages, make_socket());
    TRY(Pair begin, make_socket());
    TRY(Pair failure, make_socket());
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &handled_signals(), &before);
    signals_ = open_signals(handled_signals());
    if (!signals_.is_open()) return no_process();
    const pid_t supervisor = ::fork();
    if (supervisor < 0) return no_process();
    if (supervisor == 0) {
        ::close(folder_lock.get());
        for (Pair* pair : {&messages, &begin, &failure})
            pair->ours.reset();
        supervise(program, folder_, run_,
                  {messages.theirs.get(), begin.theirs.get(), failure.theirs.get()}, before);
    }
    supervisor_ = std::move(messages.ours);
    begin_ = std::move(begin.ours);
    failure_ = std::move(failure.ours);
    for (Pair* pair : {&messages, &begin, &failure})
        pair->theirs.reset();
    SupervisorMessage hello;
    if (::recv(supervisor_.get(), &hello, sizeof hello, 0) != ssize_t{sizeof hello}) {
        return fail(Code::unavailable,
                    "the supervisor of the run ended before the program was started; run the "
                    "command again");
    }
    program_ = hello.program;
    return {};
}

Result<> RunProcesses::begin() {
    const char go = 1;
    [[maybe_unused]] const ssize_t sent = ::send(begin_.get(), &go, 1, MSG_NOSIGNAL);
    begin_.reset();
    int error = 0;
    const ssize_t got = ::recv(failure_.get(), &error, sizeof error, 0);
    failure_.reset();
    // The program reads and writes; this process must not keep its pipes open.
    replace_by_null({STDIN_FILENO, STDOUT_FILENO});
    if (got != ssize_t{sizeof error}) return {};
    return fail(error == ENOENT ? Code::not_found : Code::permission_denied,
                fmt::format("{}: {}", name_, std::strerror(error)));
}

void RunProcesses::forward(int signal) const {
    if (program_fd_.is_open()) {
        ::syscall(SYS_pidfd_send_signal, program_fd_.get(), signal, nullptr, 0);
    } else {
        ::kill(program_, signal);
    }
}

// The terminal sends its signals to the program, too.
void RunProcesses::forward_pending() {
    take_signals(signals_, [this](const signalfd_siginfo& signal) {
        const auto number = static_cast<int>(signal.ssi_signo);
        const bool is_from_kernel = signal.ssi_code == SI_KERNEL;
        if (number != SIGCHLD && number != SIGPIPE && !is_from_kernel) forward(number);
    });
}

// The supervisor was killed; the program is a child of this process now.
Result<RunEnd> RunProcesses::take_over() {
    const RunArbiter arbiter(folder_);
    RunWatch watch(run_.region(), program_);
    for (;;) {
        watch.look();
        if (!watch.has_children()) run_.remove();
        if (watch.exit_status()) {
            return RunEnd{.exit_status = *watch.exit_status(),
                          .others_live = watch.has_children(),
                          .wall_ns = now_ns() - started_ns_,
                          .use = watch.use()};
        }
        if (!watch.has_children()) {
            return fail(Code::unavailable,
                        "the program has ended, but its exit status is lost, because the process "
                        "that waited for it was killed");
        }
        pollfd ready{.fd = signals_.get(), .events = POLLIN, .revents = 0};
        ::poll(&ready, 1, RunWatch::kPeriodMs);
        forward_pending();
    }
}

Result<RunEnd> RunProcesses::wait() {
    for (;;) {
        std::array<pollfd, 2> ready{
            pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
            pollfd{.fd = supervisor_.get(), .events = POLLIN, .revents = 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return take_over();
        forward_pending();
        if (ready[1].revents == 0) continue;
        SupervisorMessage end;
        if (::recv(supervisor_.get(), &end, sizeof end, MSG_DONTWAIT) != ssize_t{sizeof end})
            return take_over();
        return RunEnd{.exit_status = end.exit_status,
                      .others_live = end.others_live,
                      .wall_ns = now_ns() - started_ns_,
                      .use = end.use};
    }
}

}  // namespace tessera
