// Views of jobs that go on: --watch.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "app/workload/progress.hpp"
#include "base/result.hpp"

namespace tessera {

// What a view shows at one moment.
struct Frame {
    std::string text;                 // for a terminal
    std::vector<ProgressLine> lines;  // for any other output
    bool is_over = false;             // nothing will change any more
};

// -w, --watch.
void add_watch(CLI::App& command, bool& watch);
// invalid_argument: JSON and YAML are not watched.
Result<> check_watch(bool watch, const std::string& output);

// Shows the view every 2 seconds, until it is over, nothing reads the output any more, or `next`
// fails. A terminal is redrawn. Other output gets a line for each change. While the API server does
// not answer, stderr says so, and the view goes on.
Result<int> watch(const std::function<Result<Frame>()>& next);

}  // namespace tessera
