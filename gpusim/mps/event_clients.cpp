// The clients of the daemon's servers. Clients of one user at a time have a server: those of
// another user wait until these have left. Then the daemon ends their server and starts one for the
// user that waits. Source: the man page of nvidia-cuda-mps-control.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/mps/event_loop.hpp"
#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {
namespace {

constexpr std::uint32_t kGpusOfANode = 64;

// The inode of the process's pid namespace, and what it was started as.
void read_process(Client& client) {
    MpsPath path;
    std::snprintf(path.text, sizeof path.text, "/proc/%d/ns/pid", client.pid);
    char name[64] = {};
    if (readlink(path.text, name, sizeof name - 1) > 0) {
        const char* digits = std::strchr(name, '[');
        if (digits != nullptr) client.pid_namespace = std::strtoul(digits + 1, nullptr, 10);
    }
    std::snprintf(path.text, sizeof path.text, "/proc/%d/cmdline", client.pid);
    const int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    // A NUL ends each argument.
    if (read(fd, client.command, sizeof client.command - 1) < 0) client.command[0] = '\0';
    close(fd);
}

void notify(int fd, std::uint32_t error) {
    Notice notice;
    notice.error = error;
    // One that cannot receive it notices the end of its connection.
    send_all(fd, &notice, sizeof notice);
}

bool waits(const Connection* connection) {
    return connection != nullptr && connection->ticket != 0;
}

}  // namespace

void EventLoop::serve_client(Connection& connection) {
    Report report;
    while (next_report(connection, report)) {
        Client* client = control_.clients.find(connection.fd);
        if (client != nullptr && report.gpu < kGpusOfANode) take_report(*client, report);
    }
}

void EventLoop::take_report(Client& client, const Report& report) {
    const Server* server = control_.servers.find(client.server);
    switch (report.event) {
        case Event::context_made:
            note_context(client, report);
            break;
        case Event::context_ended:
            forget_context(client, report.context);
            break;
        case Event::fault:
            if (server != nullptr) fail_clients(*server, client.pid, report);
            break;
    }
}

void EventLoop::admit_waiting() {
    for (std::uint64_t last = 0;;) {
        Connection* next = nullptr;
        for (Connection* connection : connections_) {
            if (!waits(connection) || connection->ticket <= last) continue;
            if (next == nullptr || connection->ticket < next->ticket) next = connection;
        }
        if (next == nullptr) return;
        last = next->ticket;
        admit(*next);
    }
}

void EventLoop::admit(Connection& connection) {
    const uid_t uid = connection.caller.uid;
    const Server* server = control_.servers.find_of_user(uid);
    const bool is_there = server != nullptr && server->ready && !server->is_ending;
    const int clients = is_there ? control_.clients.count_of(server->pid) : 0;
    if (quitting_) {
        refuse(connection, CUDA_ERROR_MPS_CONNECTION_FAILED);
    } else if (is_there && server->has_fault) {
        refuse(connection, CUDA_ERROR_MPS_SERVER_NOT_READY);
    } else if (clients == kMaxClientsOfServer) {
        refuse(connection, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED);
    } else if (clients == 0 &&
               (has_earlier_of_other_user(connection) || !end_servers_of_others(uid))) {
        return;
    } else if (is_there) {
        welcome(connection, *server);
    } else if (server == nullptr && start_process(uid) == 0) {
        refuse_waiting(uid);
    }
}

bool EventLoop::has_earlier_of_other_user(const Connection& connection) const {
    for (const Connection* other : connections_) {
        if (waits(other) && other->ticket < connection.ticket &&
            other->caller.uid != connection.caller.uid) {
            return true;
        }
    }
    return false;
}

// Ends those without clients. The others still take clients of their own user. True when none is
// left.
bool EventLoop::end_servers_of_others(uid_t uid) {
    bool are_gone = true;
    for (int i = 0; i < control_.servers.count; i++) {
        Server& server = control_.servers.list[i];
        if (server.uid == uid) continue;
        are_gone = false;
        if (control_.clients.count_of(server.pid) == 0) end_when_idle(server);
    }
    return are_gone;
}

void EventLoop::welcome(Connection& connection, const Server& server) {
    Client* client = control_.clients.add(connection.fd, connection.pid, server.pid);
    if (client == nullptr) {
        refuse(connection, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED);
        return;
    }
    connection.ticket = 0;
    read_process(*client);
    Welcome welcome;
    welcome.state_id = server.state_id;
    welcome.server = server.number;
    welcome.gpus = server.gpus;
    welcome.active_thread_percentage = server.settings.active_thread_percentage;
    std::memcpy(welcome.pinned_limit_bytes, server.settings.pinned_limit_bytes,
                sizeof welcome.pinned_limit_bytes);
    plan_.log.line("NEW CLIENT %d from user %u: Server already exists", connection.pid,
                   connection.caller.uid);
    if (!send_all(connection.fd, &welcome, sizeof welcome)) drop(connection);
}

void EventLoop::refuse(Connection& connection, CUresult error) {
    Welcome welcome;
    welcome.head.error = static_cast<std::uint32_t>(error);
    send_all(connection.fd, &welcome, sizeof welcome);
    drop(connection);
}

void EventLoop::refuse_waiting(uid_t uid) {
    for (Connection* connection : connections_) {
        if (waits(connection) && connection->caller.uid == uid)
            refuse(*connection, CUDA_ERROR_MPS_CONNECTION_FAILED);
    }
}

void EventLoop::fail_clients(const Server& server, pid_t culprit, const Report& fault) {
    control_.clients.mark_fault(server.pid, fault.gpu);
    for (int i = 0; i < control_.clients.count; i++) {
        const Client& client = control_.clients.list[i];
        if (client.server != server.pid || !client.has_fault) continue;
        end_client(client, fault.error, client.pid == culprit);
    }
    after_client_left(server.pid);
}

// The server is gone. If it was never ready, the clients that it was started for do not try again.
void EventLoop::lose_clients(pid_t pid) {
    Clients& clients = control_.clients;
    for (int i = clients.count - 1; i >= 0; i--) {
        if (clients.list[i].server != pid) continue;
        notify(clients.list[i].fd, CUDA_ERROR_MPS_RPC_FAILURE);
        clients.remove(clients.list[i].fd);
    }
    const Server* server = control_.servers.find(pid);
    if (server != nullptr && !server->ready && !server->is_ending) refuse_waiting(server->uid);
}

void EventLoop::terminate(pid_t server, pid_t pid) {
    const Client* client = control_.clients.find_process(server, pid);
    if (client == nullptr) return;
    end_client(*client, CUDA_ERROR_MPS_CLIENT_TERMINATED);
    control_.clients.remove(client->fd);
    after_client_left(server);
}

// Its server ends its work, also if the client makes no more calls.
void EventLoop::end_client(const Client& client, std::uint32_t error, bool is_culprit) {
    notify(client.fd, error);
    if (client.slot < 0) return;
    EndedClient ended;
    ended.pid = client.pid;
    ended.slot = client.slot;
    ended.is_culprit = is_culprit ? 1 : 0;
    for (const Channel& channel : channels_) {
        if (channel.pid == client.server && channel.fd >= 0)
            send_all(channel.fd, &ended, sizeof ended);
    }
}

void EventLoop::after_client_left(pid_t pid) {
    Server* server = control_.servers.find(pid);
    if (server == nullptr) return;
    server->has_fault = control_.clients.has_fault(pid);
    if (server->is_ending) end_when_idle(*server);
}

}  // namespace gpusim::mps
