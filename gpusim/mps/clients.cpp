#include "gpusim/mps/clients.hpp"

namespace gpusim::mps {
namespace {

// One bit per GPU of the node.
std::uint64_t gpus_of(const Client& client) {
    std::uint64_t gpus = 0;
    for (const ClientContext& context : client.contexts)
        if (context.id != 0) gpus |= std::uint64_t{1} << context.gpu;
    return gpus;
}

}  // namespace

Client* Clients::find(int fd) {
    for (int i = 0; i < count; i++)
        if (list[i].fd == fd) return &list[i];
    return nullptr;
}

Client* Clients::find_process(pid_t server, pid_t pid) {
    for (int i = 0; i < count; i++)
        if (list[i].server == server && list[i].pid == pid) return &list[i];
    return nullptr;
}

Client* Clients::add(int fd, pid_t pid, pid_t server) {
    if (count == kMaxClients) return nullptr;
    Client& client = list[count++];
    client = {};
    client.fd = fd;
    client.pid = pid;
    client.server = server;
    return &client;
}

void Clients::remove(int fd) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (list[i].fd == fd) continue;
        if (kept != i) list[kept] = list[i];
        kept++;
    }
    count = kept;
}

int Clients::count_of(pid_t server) const {
    int found = 0;
    for (int i = 0; i < count; i++)
        found += list[i].server == server ? 1 : 0;
    return found;
}

bool Clients::has_fault(pid_t server) const {
    for (int i = 0; i < count; i++)
        if (list[i].server == server && list[i].has_fault) return true;
    return false;
}

void Clients::mark_fault(pid_t server, std::uint32_t gpu) {
    std::uint64_t reached = std::uint64_t{1} << gpu;
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (int i = 0; i < count; i++) {
            Client& client = list[i];
            if (client.server != server || client.has_fault) continue;
            if ((gpus_of(client) & reached) == 0) continue;
            client.has_fault = has_grown = true;
            reached |= gpus_of(client);
        }
    }
}

void note_context(Client& client, const Report& report) {
    client.slot = report.slot;
    for (ClientContext& context : client.contexts) {
        if (context.id != 0) continue;
        context = {report.context, report.gpu, report.name};
        context.name.uuid[sizeof context.name.uuid - 1] = '\0';
        context.name.model[sizeof context.name.model - 1] = '\0';
        return;
    }
}

void forget_context(Client& client, std::uint32_t id) {
    for (ClientContext& context : client.contexts)
        if (id != 0 && context.id == id) context = {};
}

}  // namespace gpusim::mps
