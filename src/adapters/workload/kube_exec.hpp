// Runs a command in a container, with the input and output of this process.
#pragma once

#include <chrono>
#include <string>

#include "adapters/http/http.hpp"
#include "wire/workload/exec_protocol.hpp"

namespace tessera {

// Returns the command's exit status, from 0 to 255. With `request.has_terminal`, the user's
// terminal is the command's. Errors: the API server's own text, with the right that is missing.
Result<int> run_in_container(HttpClient& http, const ExecRequest& request);

struct ExecOutput {
    int status = 0;  // 0 to 255
    std::string output;
    std::string errors;
};

// The same without input, for a command that prints little: unavailable if it prints more than a
// MiB, or does not end in time. It may then go on in the container.
Result<ExecOutput> output_in_container(HttpClient& http, const ExecRequest& request,
                                       std::chrono::seconds timeout);

}  // namespace tessera
