// Goal: a process that exits with work on the GPU no longer calls its driver once the driver's exit
// handlers may have run. Method: a handler that runs after those, and what the polling thread
// writes in the accounts when it looks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using namespace std::chrono_literals;

// A global, because an exit handler takes no arguments.
std::function<void()> last_of_all;

TEST(GuardPollingThread, EndsWhenTheProcessExits) {
    const gpusim::SimulatedNode node("gpus:\n  - {model: A, memory: 8GiB}\n");
    const GuardedContainer container(node, {{0, gpusim::kGiB, 0, kWhole / 2, kWhole}});
    container.grant_plenty();
    gpusim::in_child([&] {
        const auto looked_ns = [&] {
            return container.region().accounts().times[0][0].seen_ns.load();
        };
        last_of_all = [&] {
            std::this_thread::sleep_for(200ms);  // until a look is over
            const std::int64_t before = looked_ns();
            std::this_thread::sleep_for(300ms);
            _exit(before != 0 && looked_ns() == before ? 0 : 1);
        };
        std::atexit([] { last_of_all(); });
        const gpusim::Worker worker(container.facade());
        EXPECT_EQ(worker.launch(5000 * gpusim::kMillisecond), CUDA_SUCCESS);
        const std::int64_t before = looked_ns();
        while (looked_ns() == before)
            std::this_thread::sleep_for(1ms);
        std::exit(1);
    });
}

}  // namespace
}  // namespace tessera::guard
