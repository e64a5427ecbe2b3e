// tessera-sim: replays traces against the placement engine.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <new>

#include "programs/common/commands.hpp"
#include "simulator/program/bound_command.hpp"
#include "simulator/program/churn_command.hpp"
#include "simulator/program/replay_command.hpp"

namespace tessera {
namespace {

// Shows progress on a terminal only, and removes its line when all is done.
void show_progress(std::size_t done, std::size_t of) {
    constexpr std::size_t kWidth = 40;
    static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    if (!is_terminal) return;
    const std::size_t filled = done * kWidth / of;
    std::cerr << fmt::format("\r[{:#>{}}{:.>{}}] {} %", "", filled, "", kWidth - filled,
                             done * 100 / of);
    if (done == of) std::cerr << "\r\033[K";
    std::cerr << std::flush;
}

template <class Options, class Add, class Run>
auto printing(Add add, Run run) {
    return options_and_run<Options>(add, [run](const Options& options) -> Result<int> {
        TRY(const std::string text, run(options, show_progress));
        std::cout << text;
        return 0;
    });
}

int run(int argc, char** argv) {
    const auto commands = std::to_array<CommandRow>({
        {"replay",
         "Place a trace's tasks in their order of arrival, and measure the result of each policy",
         "tessera-sim replay --data traces/ --policy fgd,expected-fill",
         printing<ReplayCommand>(add_replay_options, run_replay)},
        {"bound",
         "Upper bound on the share of the GPUs that any placement of a trace's tasks can allocate",
         "tessera-sim bound --data traces/ --policy fgd",
         printing<BoundCommand>(add_bound_options, run_bound)},
        {"churn",
         "Let a trace's tasks arrive and end, and measure how long they wait and how much of the "
         "GPUs is allocated",
         "tessera-sim churn --data traces/ --load 80,100",
         printing<ChurnCommand>(add_churn_options, run_churn)},
    });
    return run_commands({.name = "tessera-sim",
                         .description = "Replays traces against Tessera's placement engine.",
                         .footer = {},
                         .commands = commands},
                        argc, argv);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    using tessera::Code;
    try {
        return tessera::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return tessera::print_error(
            "tessera-sim", {Code::unavailable,
                            "not enough memory; request less, or fewer runs at a time (--jobs)"});
    } catch (const std::exception& error) {
        return tessera::print_error(
            "tessera-sim", {Code::unavailable, std::string("internal error: ") + error.what()});
    }
}
