// --wait of the commands that make jobs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "app/workload/progress.hpp"
#include "base/result.hpp"

namespace tessera {

struct WaitOptions {
    bool wait = false;
    std::string timeout;

    // `until`: what it waits for, such as "its pods run".
    void add_to(CLI::App& command, const std::string& until);
    // invalid_argument names the flag.
    [[nodiscard]] Result<> check() const;
};

// How far a job has come.
struct Waiting {
    ProgressLine progress;
    bool is_done = false;
    bool has_failed = false;
};

// With --wait: looks every second, and prints each change, until the job is done (exit status 0),
// has failed, or the time is over (1). While the API server does not answer it goes on. Ctrl-C
// leaves the job alone.
Result<int> wait_until_done(const WaitOptions& options,
                            const std::function<Result<Waiting>()>& look);

}  // namespace tessera
