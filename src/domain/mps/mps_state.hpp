// What the control daemon of NVIDIA MPS on one GPU is to be, and what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

// A process that is connected to MPS.
struct MpsClient {
    std::int64_t pid = 0;  // on the node
    PodUid pod;            // empty: not known

    friend bool operator==(const MpsClient&, const MpsClient&) = default;
};

// A process whose fatal error took the GPU from all clients of its server.
struct MpsFault {
    MpsClient client;
    std::int64_t unix_ns = 0;  // when it was found; each fault of a GPU has another time
    // The server of the client had a fatal error or ended, and no program of another pod was named
    // for it. A line of the log alone proves nothing: the daemon also writes what programs in
    // containers send it.
    bool is_confirmed = false;

    friend bool operator==(const MpsFault&, const MpsFault&) = default;
};

struct MpsServer {
    std::int64_t pid = 0;
    std::vector<MpsClient> clients;

    friend bool operator==(const MpsServer&, const MpsServer&) = default;
};

struct MpsState {
    static constexpr std::size_t kMostFaults = 16;

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
    std::vector<MpsServer> servers;  // as last listed, while the daemon answers
    std::vector<MpsFault> faults;    // the latest, since the supervisor started; oldest first
    // Servers that ended, or were ended, while they had clients; since the supervisor started.
    int servers_lost = 0;
    int failures = 0;  // how often it ended, or did not start, since the supervisor started
    std::int64_t checked_unix_ns = 0;  // when this was found

    friend bool operator==(const MpsState&, const MpsState&) = default;
};

// The processes that are connected; with a pod, those of the pod.
inline std::size_t client_count(const MpsState& state, const PodUid& pod = {}) {
    std::size_t count = 0;
    for (const MpsServer& server : state.servers) {
        for (const MpsClient& client : server.clients)
            count += pod.empty() || client.pod == pod ? 1 : 0;
    }
    return count;
}

// Whether the state was found at most two minutes before this time of the node's clock. An older
// one was written by a tessera-mps that does not run.
inline bool is_current(const MpsState& state, std::int64_t unix_ns) {
    constexpr std::int64_t kTwoMinutes = 120'000'000'000;  // ns
    return unix_ns - state.checked_unix_ns <= kTwoMinutes;
}

// What the agent reported to the users of a GPU's pods.
struct MpsReported {
    std::int64_t pid = 0;  // of the control daemon that it knew
    std::int64_t fault_unix_ns = 0;
    int servers_lost = 0;
    std::map<PodUid, int> faults;  // confirmed ones of each pod, while it has a share of the GPU

    friend bool operator==(const MpsReported&, const MpsReported&) = default;
};

}  // namespace tessera
