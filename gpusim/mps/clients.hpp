// The clients of the MPS servers: processes whose libcuda is connected. Pure state.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "gpusim/mps/wire.hpp"

namespace gpusim::mps {

// Of one server, on GPUs since Volta. Source: NVIDIA's MPS manual.
inline constexpr int kMaxClientsOfServer = 48;
inline constexpr int kMaxClients = 192;
// Of one client. Further ones are not shown, and no fault reaches their GPU.
inline constexpr int kMaxContexts = 16;

struct ClientContext {
    std::uint32_t id = 0;  // 0: none
    std::uint32_t gpu = 0;
    GpuName name;
};

struct Client {
    pid_t pid = 0;  // in the daemon's pid namespace
    pid_t server = 0;
    int slot = -1;                    // in GpusFile; known with its first context
    int fd = -1;                      // its connection, which identifies it
    bool has_fault = false;           // a fault ended it, and it has not left
    unsigned long pid_namespace = 0;  // the inode
    char command[128] = {};
    ClientContext contexts[kMaxContexts];
};

struct Clients {
    Client list[kMaxClients];
    int count = 0;

    // Null if there is none, or for add() if there are kMaxClients. Removing invalidates pointers.
    Client* find(int fd);
    Client* find_process(pid_t server, pid_t pid);
    Client* add(int fd, pid_t pid, pid_t server);
    void remove(int fd);

    int count_of(pid_t server) const;
    bool has_fault(pid_t server) const;
    // Marks the clients of the server that a fault on the GPU ends: those on that GPU, and all on
    // any GPU of these. `gpu` is below 64.
    void mark_fault(pid_t server, std::uint32_t gpu);
};

void note_context(Client& client, const Report& report);
void forget_context(Client& client, std::uint32_t id);

}  // namespace gpusim::mps
