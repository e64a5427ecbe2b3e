#include "programs/tessera/workload/wait_options.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "domain/training/submit_flags.hpp"
#include "programs/tessera/workload/flag_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPeriod{1};

Result<std::optional<std::chrono::seconds>> limit_of(const WaitOptions& options) {
    if (options.timeout.empty()) return std::optional<std::chrono::seconds>();
    TRY(const std::int64_t seconds, workload::parse_duration("--wait-timeout", options.timeout));
    return std::optional(std::chrono::seconds(seconds));
}

}  // namespace

void WaitOptions::add_to(CLI::App& command, const std::string& until) {
    command.add_flag("--wait", wait, "wait until " + until + ", and show how it gets on");
    add_flag_value(command, "--wait-timeout", timeout,
                   "longest time of --wait, such as 90s, 30m or 1h30m; by default it has no end");
}

Result<> WaitOptions::check() const {
    if (!wait && !timeout.empty()) {
        return fail(Code::invalid_argument, "--wait-timeout: needs --wait; add it");
    }
    TRY_VOID(limit_of(*this));
    return {};
}

Result<int> wait_until_done(const WaitOptions& options,
                            const std::function<Result<Waiting>()>& look) {
    if (!options.wait) return 0;
    TRY(const auto limit, limit_of(options));
    const steady_clock::time_point began = steady_clock::now();
    ProgressLines progress;
    std::string last;
    while (true) {
        const auto now = look();
        if (!now && now.error().code != Code::unavailable) return fail(now.error());
        if (now) {
            for (const std::string& line : progress.changes({now->progress}))
                say(line);
            last = now->progress.text;
            if (now->is_done) return 0;
            if (now->has_failed) return 1;
        }
        if (limit && steady_clock::now() - began >= *limit) {
            warn(fmt::format("the time of --wait-timeout is over, and the job goes on: {}", last));
            return 1;
        }
        std::this_thread::sleep_for(kPeriod);
    }
}

}  // namespace tessera
