// What the control daemon of NVIDIA MPS on one GPU is to be, and what it is.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "base/quantity.hpp"

namespace tessera {

// The limits of clients that connect from now on. A client may lower its own.
struct MpsSettings {
    Percent threads{100};  // the most of the GPU's multiprocessors that a client uses; 1 to 100
    Bytes memory;          // the most device memory that one client process allocates; whole MiB

    friend bool operator==(const MpsSettings&, const MpsSettings&) = default;
};

enum class MpsPhase {
    starting,
    ready,     // clients can connect, and the settings were read back
    failed,    // clients cannot connect; `reason` says why
    stopping,  // it is no longer wanted
};

struct MpsState {
    GpuUuid gpu;
    MpsPhase phase = MpsPhase::starting;
    // Of a failure, with what to do or what happens next, or why `wanted.json` is not followed;
    // else empty.
    std::string reason;
    std::int64_t pid = 0;  // of the control daemon on the node; 0: none runs
    MpsSettings settings;  // as read back; meaningful while ready
    // Whether the daemon refuses settings from processes in containers. If not, a tenant can raise
    // the limits of all (driver 535: docs/research/mps-debian.md).
    bool protects_settings = false;
    int failures = 0;  // how often it ended, or did not start, since the supervisor started
    std::int64_t checked_unix_ns = 0;  // when this was found

    friend bool operator==(const MpsState&, const MpsState&) = default;
};

}  // namespace tessera
