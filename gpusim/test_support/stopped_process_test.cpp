// Goal: other processes go on while one is stopped. Method: a process with several threads in the
// driver is stopped and continued again and again, and another one needs the same
// engine each time.
#include "gpusim/test_support/stopped_process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

TEST(StoppedProcess, HoldsUpNoOther) {
    constexpr int kStops = 200;
    const SimulatedNode node(kTwoGpus);
    ChildProcess busy([&](Wire& wire) {
        const Worker worker(node.library("libcuda.so.1"));
        std::vector<std::jthread> threads;
        threads.reserve(2);
        for (int i = 0; i < 2; i++) {
            threads.emplace_back([&worker] {
                CALL(worker.cuda, cuCtxSetCurrent)(worker.context);
                for (;;)
                    worker.launch(1000);
            });
        }
        wire.send();
        for (;;)
            stop_without_locks();
    });
    ASSERT_EQ(busy.wire().receive(), 1U);
    ChildProcess other([&](Wire& wire) {
        const Worker worker(node.library("libcuda.so.1"));
        while (wire.receive() != 0) {
            EXPECT_EQ(worker.launch(1000), CUDA_SUCCESS);
            wire.send();
        }
    });
    for (int i = 0; i < kStops; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it is stopped meanwhile
        other.wire().send();
        ASSERT_EQ(other.wire().receive(), 1U) << "stop " << i;
        kill(busy.pid(), SIGCONT);
    }
}

}  // namespace
}  // namespace gpusim
