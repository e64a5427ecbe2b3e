#include "adapters/shell/shell_server.hpp"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::size_t kOwnItems = 2;

Result<ShellSocket> open_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT})
        ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    auto out = std::make_unique<Descriptor>(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (out->get() < 0)
        return fail(Code::unavailable, std::string("signalfd: ") + std::strerror(errno));
    return out;
}

}  // namespace

ShellServer::ShellServer(ShellSocket listener, ShellSocket signals, std::string secret)
    : listener_(std::move(listener)), signals_(std::move(signals)), secret_(std::move(secret)) {}

Result<ShellServer> ShellServer::make(int port, std::string secret) {
    TRY(ShellSocket signals, open_signals());
    TRY(ShellSocket listener, listen_for_shells(port));
    return ShellServer(std::move(listener), std::move(signals), std::move(secret));
}

Result<int> ShellServer::run() {
    for (;;) {
        std::vector<pollfd> items = {{.fd = signals_->get(), .events = POLLIN, .revents = 0},
                                     {.fd = listener_->get(), .events = POLLIN, .revents = 0}};
        for (const ShellSession& session : sessions_)
            session.add_items(items);
        if (::poll(items.data(), items.size(), timeout_ms(Clock::now())) < 0 && errno != EINTR)
            return fail(Code::internal, std::string("poll: ") + std::strerror(errno));
        const auto now = Clock::now();
        handle(items, now);
        if ((items[0].revents & POLLIN) != 0) {
            if (const int number = read_signals(); number != 0) {
                stop();
                return 128 + number;
            }
        }
        reap(now);
        kill_late(now);
        if ((items[1].revents & POLLIN) != 0) accept(now);
    }
}

int ShellServer::timeout_ms(Clock::time_point now) const {
    std::optional<Clock::time_point> next;
    const auto add = [&](std::optional<Clock::time_point> time) {
        if (time && *time != Clock::time_point::max() && (!next || *time < *next)) next = time;
    };
    for (const ShellSession& session : sessions_)
        add(session.deadline());
    for (const auto& [pid, time] : ending_)
        add(time);
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

int ShellServer::read_signals() {
    int out = 0;
    signalfd_siginfo one{};
    while (::read(signals_->get(), &one, sizeof one) == sizeof one) {
        if (one.ssi_signo != SIGCHLD) out = static_cast<int>(one.ssi_signo);
    }
    return out;
}

void ShellServer::handle(const std::vector<pollfd>& items, Clock::time_point now) {
    auto running =
        static_cast<std::size_t>(std::ranges::count_if(sessions_, &ShellSession::is_running));
    auto at = items.begin() + kOwnItems;
    for (auto session = sessions_.begin(); session != sessions_.end(); at += ShellSession::kItems) {
        const bool was_running = session->is_running();
        const bool goes_on = session->handle(at, now, running < kMostCommands);
        if (!was_running && session->is_running()) ++running;
        if (goes_on) {
            ++session;
            continue;
        }
        if (session->is_running()) end_command(session->pid(), now);
        session = sessions_.erase(session);
    }
}

void ShellServer::accept(Clock::time_point now) {
    auto socket = std::make_unique<Descriptor>(
        ::accept4(listener_->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket->get() < 0) return;
    if (sessions_.size() >= kMostConnections) {
        const auto stranger = std::ranges::find_if(sessions_, &ShellSession::is_stranger);
        if (stranger == sessions_.end()) return;
        sessions_.erase(stranger);
    }
    sessions_.emplace_back(std::move(socket), secret_, now);
}

// The group of a command that lost its connection is killed before its leader's number is free.
void ShellServer::reap(Clock::time_point now) {
    for (;;) {
        siginfo_t found{};
        if (::waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0)
            return;
        const pid_t pid = found.si_pid;
        if (ending_.erase(pid) > 0) ::kill(-pid, SIGKILL);
        int status = 0;
        ::waitpid(pid, &status, 0);
        const auto session = std::ranges::find_if(sessions_, [&](const ShellSession& one) {
            return one.is_running() && one.pid() == pid;
        });
        if (session != sessions_.end()) session->ended(shell_status(status), now);
    }
}

void ShellServer::end_command(pid_t pid, Clock::time_point now) {
    log_event(Event::shell_command_ended, {{"reason", "the client is gone"}});
    ::kill(-pid, SIGTERM);
    ending_.emplace(pid, now + kGrace);
}

void ShellServer::kill_late(Clock::time_point now) {
    for (auto& [pid, time] : ending_) {
        if (now < time) continue;
        ::kill(-pid, SIGKILL);
        time = Clock::time_point::max();
    }
}

void ShellServer::stop() {
    log_event(Event::stopping);
    std::set<pid_t> groups;
    for (const ShellSession& session : sessions_) {
        if (session.is_running()) groups.insert(session.pid());
    }
    for (const auto& [pid, time] : ending_)
        groups.insert(pid);
    const auto signal_all = [&](int number) {
        for (const pid_t pid : groups)
            ::kill(-pid, number);
        // The main process of a container: all others are ours, also those that were left behind.
        if (::getpid() == 1) ::kill(-1, number);
    };
    signal_all(SIGTERM);
    const auto end = Clock::now() + kGrace;
    constexpr int kMilliseconds = 20;
    while (Clock::now() < end) {
        const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
        if (pid < 0) break;
        groups.erase(pid);
        if (pid == 0) ::poll(nullptr, 0, kMilliseconds);
    }
    signal_all(SIGKILL);
}

}  // namespace tessera
