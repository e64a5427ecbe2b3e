// The flags of a probe of `tessera serve custom`. They are Arena's (docs/research/arena.md §2.8),
// which passes their text to the API server; here they are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/workload/pod_template.hpp"

namespace tessera::workload {

struct ProbeFlags {
    std::string action;                       // httpGet, exec, grpc or tcpSocket; empty: unchanged
    std::vector<std::string> action_options;  // "path: /healthz" or "path=/healthz"
    std::vector<std::string> options;         // "periodSeconds: 3"
};

// What a probe has if its flags do not say it.
struct ProbeDefaults {
    int rest_port = 0;      // 0: none
    int grpc_port = 0;      // 0: none
    std::string shell;      // that runs the command of exec
    bool is_ready = false;  // the readiness probe, which alone may need several successes
};

// Changes `probe` by its flags. `kind`: liveness, readiness or startup, as in the flags' names.
// invalid_argument names the flag and the fix.
Result<> read_probe_flags(std::string_view kind, const ProbeFlags& flags,
                          const ProbeDefaults& defaults, Probe& probe);

}  // namespace tessera::workload
