// The control daemon of NVIDIA MPS on one GPU, as a process that outlives the program that started
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Used by one thread.
class ControlDaemon {
  public:
    virtual ~ControlDaemon() = default;

    // The process that is this GPU's control daemon, also one of an earlier program. Nothing: there
    // is none. An error: it cannot be known, so nothing may be started or ended.
    virtual Result<std::optional<std::int64_t>> pid() = 0;
    // Starts one where there is none, and waits up to 10 seconds until it takes commands. Clients
    // cannot connect yet. unavailable with what the daemon said.
    virtual Result<> start() = 0;
    // Ends the daemon and its servers at once, and waits up to some seconds until they are gone.
    // Their clients get an error from the driver.
    virtual Result<> kill(std::int64_t pid) = 0;
    // The processes that had a fatal error on the GPU since the last call, by the log of the
    // servers, and at the first call none.
    virtual std::vector<std::int64_t> faulted_clients() = 0;
    // Ends a server, whose clients get an error from the driver. The daemon starts another one for
    // the next client.
    virtual Result<> end_server(std::int64_t pid) = 0;
    // Whether a server of this GPU runs, so that programs may be using it. It needs no answer of
    // the daemon. True if that cannot be known.
    virtual bool has_servers() = 0;
    // The answer to a command (wire/mps/control_protocol.hpp), also if it was refused. unavailable
    // if none comes within 2 seconds; any other error means that the command did not reach the
    // daemon.
    virtual Result<std::string> execute(std::string_view command) = 0;
    // The same, with the rights that a process in a container has.
    virtual Result<std::string> execute_as_tenant(std::string_view command) = 0;
    // Clients in containers can connect from now on; containers keep their mount for any later
    // daemon of this GPU.
    virtual Result<> open() = 0;
    // New clients cannot connect. No error: clients that are connected stay.
    virtual void close() = 0;
    // Removes what a daemon that has ended left, also its servers. The folder of the tenants stays.
    // An error: some of it is left.
    virtual Result<> clear() = 0;
};

}  // namespace tessera
