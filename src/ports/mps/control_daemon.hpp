// The control daemon of NVIDIA MPS on one GPU, as a process that outlives the program that started
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// Used by one thread.
class ControlDaemon {
  public:
    virtual ~ControlDaemon() = default;

    // The process that is this GPU's control daemon, also one of an earlier program. Nothing: there
    // is none.
    virtual std::optional<std::int64_t> pid() = 0;
    // Starts one where there is none, and waits until it takes commands. Clients cannot connect
    // yet. unavailable with what the daemon said.
    virtual Result<> start() = 0;
    // Ends the daemon at once, and waits until it is gone. Its clients get an error from the
    // driver.
    virtual Result<> kill(std::int64_t pid) = 0;
    // The answer to a command (wire/mps/control_protocol.hpp), also if it was refused. unavailable
    // if none comes within 2 seconds.
    virtual Result<std::string> execute(std::string_view command) = 0;
    // The same, with the rights that a process in a container has.
    virtual Result<std::string> execute_as_tenant(std::string_view command) = 0;
    // Clients in containers can connect from now on; containers keep their mount for any later
    // daemon of this GPU.
    virtual Result<> open() = 0;
    // New clients cannot connect. No error: clients that are connected stay.
    virtual void close() = 0;
    // Removes what a daemon that has ended left. The tenants' folder stays.
    virtual void clear() = 0;
};

}  // namespace tessera
