#include "gpusim/mps/event_loop.hpp"

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "gpusim/mps/server_process.hpp"

namespace gpusim::mps {
namespace {

long now_ms() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int signals_of_children() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

EventLoop::EventLoop(const Plan& plan) : plan_(plan), signals_fd_(signals_of_children()) {
    control_.version = plan.version;
}

int EventLoop::run() {
    while (!done_) {
        pollfd polled[kMaxPolled];
        Connection* connections[kMaxPolled] = {};
        Channel* channels[kMaxPolled] = {};
        nfds_t count = 0;
        for (const int fd :
             {signals_fd_, plan_.directory->control_fd, plan_.directory->privileged_fd})
            polled[count++] = {fd, POLLIN, 0};
        for (Channel& channel : channels_) {
            if (channel.fd < 0) continue;
            channels[count] = &channel;
            polled[count++] = {channel.fd, POLLIN, 0};
        }
        for (Connection* connection : connections_) {
            if (connection == nullptr) continue;
            connections[count] = connection;
            // One that waits for an answer is only watched for its end.
            const bool waits = connection->waits_for != 0 || connection == quit_caller_;
            polled[count++] = {connection->fd, static_cast<short>(waits ? 0 : POLLIN), 0};
        }
        if (poll(polled, count, poll_timeout_ms()) < 0 && errno != EINTR) return 1;
        for (nfds_t i = 3; i < count; i++) {
            if (polled[i].revents == 0) continue;
            if (channels[i] != nullptr) read_channel(*channels[i]);
            // A server that is ready answers others, and may close them.
            if (is_open(connections[i])) serve(*connections[i]);
        }
        collect_servers();
        if (polled[1].revents != 0) accept_all(polled[1].fd, false);
        if (polled[2].revents != 0) accept_all(polled[2].fd, true);
        admit_waiting();
        if (quitting_) finish_quit();
    }
    return static_cast<int>(exit_status_);
}

int EventLoop::poll_timeout_ms() {
    if (!quitting_ || quit_deadline_ms_ < 0) return -1;
    const long left = quit_deadline_ms_ - now_ms();
    return left > 0 ? static_cast<int>(left) : 0;
}

void EventLoop::accept_all(int listener, bool privileged) {
    for (;;) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        plan_.log.line("Accepting connection...");
        Connection** place = place_for_peer();
        auto* connection = static_cast<Connection*>(std::calloc(1, sizeof(Connection)));
        if (connection == nullptr || place == nullptr) {
            std::free(connection);
            close(fd);
            return;
        }
        const PeerProcess process = peer_process(fd);
        connection->fd = fd;
        connection->pid = process.pid;
        connection->caller = {process.uid, privileged};
        *place = connection;
    }
}

// Peers that say nothing must not keep others out. Null if all are clients.
Connection** EventLoop::place_for_peer() {
    for (Connection*& connection : connections_)
        if (connection == nullptr) return &connection;
    for (int tries = 0; tries < kMaxConnections; tries++) {
        Connection*& victim = connections_[next_victim_];
        next_victim_ = (next_victim_ + 1) % kMaxConnections;
        if (victim->peer == Peer::client) continue;
        drop(*victim);
        return &victim;
    }
    return nullptr;
}

void EventLoop::serve(Connection& connection) {
    const Peer before = connection.peer;
    if (connection.waits_for != 0 || &connection == quit_caller_ ||
        read_some(connection) == Read::closed) {
        if (before == Peer::front_end) plan_.log.line("UI closed");
        drop(connection);
        return;
    }
    if (connection.peer == Peer::client) {
        if (before == Peer::unknown) connection.ticket = ++tickets_;
        serve_client(connection);
        return;
    }
    if (before == Peer::unknown && connection.peer == Peer::front_end) plan_.log.line("NEW UI");
    run_commands(connection);
}

// Any of these may close the connection, which frees it.
void EventLoop::run_commands(Connection& connection) {
    while (is_open(&connection) && connection.waits_for == 0 && !quitting_ &&
           next_command(connection, line_)) {
        run_command(connection, line_);
    }
}

bool EventLoop::is_open(const Connection* connection) const {
    for (const Connection* other : connections_)
        if (other == connection) return connection != nullptr;
    return false;
}

void EventLoop::run_command(Connection& connection, char* line) {
    plan_.log.line("Cmd:%s", line);
    answer_.clear();
    const Outcome outcome = execute(control_, connection.caller, line, answer_);
    log_answer();
    if (outcome.note != nullptr) plan_.log.line("%s", outcome.note);
    apply(connection, outcome);
}

void EventLoop::apply(Connection& connection, const Outcome& outcome) {
    switch (outcome.action) {
        case Action::start_server:
            start(connection, outcome.uid);
            return;
        case Action::quit:
            begin_quit(connection, outcome.timeout_s);
            return;
        case Action::shutdown_server:
            if (Server* server = control_.servers.find(outcome.pid); server != nullptr)
                end_when_idle(*server);
            break;
        case Action::kill_server:
            close_channel(outcome.pid);
            break;
        case Action::terminate_client:
            terminate(outcome.pid, outcome.client);
            break;
        case Action::none:
            break;
    }
    answer(connection);
}

void EventLoop::start(Connection& connection, uid_t uid) {
    connection.waits_for = start_process(uid);
    if (connection.waits_for == 0) answer(connection);
}

// The new server's pid; 0 if there is none.
pid_t EventLoop::start_process(uid_t uid) {
    Channel* place = nullptr;
    for (Channel& channel : channels_)
        if (channel.pid == 0) place = &channel;
    if (place == nullptr) return 0;
    const ServerProcess server = start_server_process({uid, plan_.server_output_fd}, plan_.log);
    if (server.pid < 0) return 0;
    *place = {server.pid, server.channel};
    control_.servers.add(server.pid, uid, control_.defaults);
    return server.pid;
}

void EventLoop::end_when_idle(Server& server) {
    server.is_ending = true;
    if (control_.clients.count_of(server.pid) == 0) close_channel(server.pid);
}

void EventLoop::begin_quit(Connection& connection, int timeout_s) {
    quitting_ = true;
    quit_caller_ = &connection;
    if (timeout_s >= 0) quit_deadline_ms_ = now_ms() + 1000L * timeout_s;
    for (int i = 0; i < control_.servers.count; i++)
        end_when_idle(control_.servers.list[i]);
}

void EventLoop::finish_quit() {
    if (control_.servers.count > 0) {
        if (quit_deadline_ms_ < 0 || now_ms() < quit_deadline_ms_) return;
        for (int i = 0; i < control_.servers.count; i++)
            kill(control_.servers.list[i].pid, SIGKILL);
        quit_deadline_ms_ = -1;
        return;
    }
    plan_.log.line("Exit with status %u", exit_status_);
    release(*plan_.directory);
    done_ = true;
    if (quit_caller_ == nullptr) return;
    // Where a server has failed, the vendor's front end ends with 1 or, in a race, with 0.
    answer_.clear();
    send_answer(*quit_caller_, answer_, exit_status_);
}

void EventLoop::read_channel(Channel& channel) {
    ServerReady ready;
    const ssize_t got = recv(channel.fd, &ready, sizeof ready, MSG_DONTWAIT);
    if (got != static_cast<ssize_t>(sizeof ready) || ready.gpus.count > kMaxDevices) {
        close_channel(channel.pid);
        return;
    }
    Server* server = control_.servers.find(channel.pid);
    if (server == nullptr) return;
    server->ready = true;
    server->state_id = ready.state_id;
    server->number = ready.number;
    server->gpus = ready.gpus;
    server->device_count = static_cast<int>(ready.gpus.count);
    plan_.log.line("NEW SERVER %d: Ready", channel.pid);
    answer_waiters(channel.pid);
}

// Its end tells the server to end. Its place is free when the process is gone.
void EventLoop::close_channel(pid_t pid) {
    for (Channel& channel : channels_) {
        if (channel.pid != pid || channel.fd < 0) continue;
        close(channel.fd);
        channel.fd = -1;
    }
}

void EventLoop::collect_servers() {
    signalfd_siginfo ignored;
    while (read(signals_fd_, &ignored, sizeof ignored) > 0)
        continue;
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
        // A killed server counts as status 0, as in the vendor's log.
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (code != 0) {
            plan_.log.line("Server encountered a fatal exception. Shutting down");
            exit_status_ = 1;
        }
        plan_.log.line("Server %d exited with status %d", pid, code);
        close_channel(pid);
        lose_clients(pid);
        control_.servers.remove(pid);
        for (Channel& channel : channels_)
            if (channel.pid == pid) channel.pid = 0;
        answer_waiters(pid);
    }
}

void EventLoop::answer_waiters(pid_t pid) {
    for (Connection*& connection : connections_) {
        if (connection == nullptr || connection->waits_for != pid) continue;
        connection->waits_for = 0;
        answer_.clear();
        answer(*connection);
        if (connection != nullptr) run_commands(*connection);
    }
}

void EventLoop::answer(Connection& connection) {
    if (!send_answer(connection, answer_, 0)) drop(connection);
}

void EventLoop::log_answer() const {
    const char* line = answer_.text;
    const char* end = answer_.text + answer_.size;
    while (line < end) {
        const auto* stop =
            static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)));
        if (stop == nullptr) return;
        if (stop > line) plan_.log.line("%.*s", static_cast<int>(stop - line), line);
        line = stop + 1;
    }
}

void EventLoop::drop(Connection& connection) {
    if (quit_caller_ == &connection) quit_caller_ = nullptr;
    for (Connection*& other : connections_)
        if (other == &connection) other = nullptr;
    if (const Client* client = control_.clients.find(connection.fd); client != nullptr) {
        const pid_t server = client->server;
        plan_.log.line("Client %d disconnected", client->pid);
        control_.clients.remove(connection.fd);
        after_client_left(server);
    }
    close(connection.fd);
    std::free(&connection);
}

}  // namespace gpusim::mps
