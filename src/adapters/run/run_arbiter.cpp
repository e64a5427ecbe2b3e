#include "adapters/run/run_arbiter.hpp"

#include <fmt/format.h>

#include "adapters/guard/time_sharer.hpp"
#include "adapters/run/run_lock.hpp"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// A container considers the arbiter late after a second (guard/compute/permit/balance_now.cpp).
constexpr auto kPause = 500ms;

}  // namespace

RunArbiter::RunArbiter(const RunFolder& folder)
    : folder_(folder), thread_([this](const std::stop_token& stop) { run(stop); }) {}

// Without the lock's file, the runs have their guarantees.
void RunArbiter::run(const std::stop_token& stop) {
    const auto lock = open_lock_file(folder_.path() / fmt::format("arbiter-{}", ::geteuid()));
    if (!lock) return;
    while (!stop.stop_requested()) {
        if (try_lock(*lock)) {
            TimeSharer(folder_.runs(), clock_,
                       {.changed = ChangedLimits::own, .watches_folder = true})
                .run(stop);
            return;
        }
        clock_.sleep_for(kPause, stop);
    }
}

}  // namespace tessera
