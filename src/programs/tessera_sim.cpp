// tessera-sim: replays traces against the placement engine.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>

#include "programs/bound_command.hpp"
#include "programs/churn_command.hpp"
#include "programs/common/command_line.hpp"
#include "programs/replay_command.hpp"

namespace tessera {
namespace {

int finish(const Error& error) {
    std::cerr << "tessera-sim: " << error.text << "\n";
    return exit_status(error.code);
}

int print(const Result<std::string>& text) {
    if (!text) return finish(text.error());
    std::cout << *text;
    return 0;
}

// On a terminal only; it takes its line away when all is done.
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

int run(int argc, char** argv) {
    CLI::App app{"Replays traces against Tessera's placement engine.", "tessera-sim"};
    app.set_version_flag("--version", "tessera-sim " TESSERA_VERSION);
    app.require_subcommand(1);
    ReplayCommand replay;
    add_replay(app, replay);
    BoundCommand bound;
    const CLI::App* bound_asked = add_bound(app, bound);
    ChurnCommand churn;
    const CLI::App* churn_asked = add_churn(app, churn);
    try {
        app.parse(command_line(argc, argv));
    } catch (const CLI::ParseError& error) {
        if (const auto rest = app.remaining(); app.get_subcommands().empty() && !rest.empty()) {
            return finish({Code::invalid_argument, "no command \"" + rest.front() +
                                                       "\"; there is replay, bound and churn"});
        }
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (bound_asked->parsed()) return print(run_bound(bound, show_progress));
    if (churn_asked->parsed()) return print(run_churn(churn, show_progress));
    return print(run_replay(replay, show_progress));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    try {
        if (const int status = tessera::run(argc, argv); status != 0 || std::cout.flush())
            return status;
    } catch (const std::bad_alloc&) {
        return tessera::finish({tessera::Code::unavailable,
                                "there is not enough memory for that; ask for less, or for fewer "
                                "at a time (--jobs)"});
    } catch (const std::exception& error) {
        return tessera::finish(
            {tessera::Code::unavailable, std::string("a fault of this program: ") + error.what()});
    }
    return tessera::finish({tessera::Code::unavailable, "the output cannot be written"});
}
