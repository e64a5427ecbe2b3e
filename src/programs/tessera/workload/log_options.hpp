// The options of the commands that show the log of a job.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/kube/pod_logs.hpp"

namespace tessera {

struct LogOptions {
    std::string instance;    // the pod
    std::string since;       // a duration
    std::string since_time;  // RFC 3339
    PodLogOptions log;

    void add_to(CLI::App& command);
};

// Prints the log to stdout: of `container`, unless the options name another one. `why`: of the pod,
// for the error if there is no log.
Result<> print_log(HttpClient& api, const PodName& pod, std::string_view container,
                   const std::string& why, const LogOptions& options);

}  // namespace tessera
