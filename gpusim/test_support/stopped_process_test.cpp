// Goal: other processes go on while one is stopped. Method: a process with several threads in the
// driver is stopped and continued again and again, and another one needs the same engine each time.
#include "gpusim/test_support/stopped_process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "gpusim/test_support/simulated_node.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

bool is_stopped(pid_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto name_end = text.rfind(") ");
    return name_end != std::string::npos && text.at(name_end + 2) == 'T';
}

TEST(StoppedProcess, HoldsUpNoOther) {
    constexpr int kStops = 20;
    constexpr int kMostRounds = 10'000;
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
    int stops = 0;
    for (int i = 0; stops < kStops && i < kMostRounds; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        other.wire().send();
        ASSERT_EQ(other.wire().receive(), 1U) << "stop " << stops;
        if (is_stopped(busy.pid())) stops++;
        kill(busy.pid(), SIGCONT);
    }
    EXPECT_EQ(stops, kStops) << "it is hardly ever stopped";
    other.wire().send(0);
    EXPECT_EQ(other.join(), 0);
}

}  // namespace
}  // namespace gpusim
