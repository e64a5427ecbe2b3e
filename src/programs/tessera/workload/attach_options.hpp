// The options of the commands that run a command in a pod of a job.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "domain/workload/workload_pod.hpp"

namespace tessera {

struct AttachOptions {
    std::string instance;            // the pod
    std::string container;           // empty: that of the job
    std::vector<std::string> words;  // the command; none: a shell

    void add_to(CLI::App& command);
};

// Runs the command in the pod, and returns its exit status. conflict if the pod does not run.
Result<int> attach(HttpClient& api, const std::string& ns, const workload::WorkloadPod& pod,
                   std::string_view container, const AttachOptions& options);

}  // namespace tessera
