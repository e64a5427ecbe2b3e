// Connections of tessera-mpi-shell.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/os/descriptor.hpp"
#include "base/result.hpp"

namespace tessera {

using ShellSocket = std::unique_ptr<Descriptor>;

// A socket that listens on all addresses of this machine, and does not block. unavailable, with the
// reason. `port` 0: any free one.
Result<ShellSocket> listen_for_shells(int port);
int port_of(int socket);

// Sets what every connection has: it does not block, and a peer that is gone without a word is
// found within two minutes.
void prepare_connection(int socket);
// The address of the other side, for messages.
std::string peer_of(int socket);

// Connects to a worker, and proves to each other that both have the secret. unavailable: try again;
// permission_denied: the other side has another secret.
Result<ShellSocket> connect_shell(const std::string& host, int port, std::string_view secret,
                                  std::chrono::milliseconds deadline);

}  // namespace tessera
