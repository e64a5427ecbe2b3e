#include "programs/tessera/workload/watched.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "adapters/os/terminal.hpp"
#include "app/cli/screen_text.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kPeriod{2};
constexpr std::string_view kClearScreen = "\x1b[2J";

// The last frame stays on the terminal, so that it is shown whole.
std::string drawn(const Frame& frame) {
    const TerminalSize size =
        frame.is_over ? TerminalSize{} : terminal_size(STDOUT_FILENO).value_or(TerminalSize{});
    return screen_text(frame.text, size.columns, size.rows);
}

}  // namespace

void add_watch(CLI::App& command, bool& watch) {
    command.add_flag("-w,--watch", watch,
                     "show it again and again; without a terminal, a line for each change");
}

Result<> check_watch(bool watch, const std::string& output) {
    if (!watch || !is_object(output)) return {};
    return fail(Code::invalid_argument, "--watch is for text; leave out --output");
}

Result<int> watch(const std::function<Result<Frame>()>& next) {
    const bool is_drawn = is_terminal(STDOUT_FILENO);
    ProgressLines progress;
    for (bool is_first = true;; is_first = false) {
        const auto frame = next();
        const bool may_return = !is_first && !frame && frame.error().code == Code::unavailable;
        if (!frame && !may_return) return fail(frame.error());
        if (!frame) {
            warn(frame.error().text + "; trying again");
        } else if (is_drawn) {
            std::cout << (is_first ? kClearScreen : "") << drawn(*frame) << std::flush;
        } else {
            for (const std::string& line : progress.changes(frame->lines))
                std::cout << line << std::endl;
        }
        if (!std::cout || (frame && frame->is_over)) return 0;
        std::this_thread::sleep_for(kPeriod);
    }
}

}  // namespace tessera
