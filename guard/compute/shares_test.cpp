// Goal: containers get the shares of a card's time that they were given, whatever kind of work they
// do. Method: processes that always want more, under an arbiter, on the simulated driver; shares
// are what that driver says, over some seconds, and printed. The bounds are wide, for machines are
// shared;
// `./dev bench guard` measures them against their goals.
#include <gtest/gtest.h>

#include <cstdio>

#include "guard/test_support/shared_card.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMicrosecond;
using gpusim::kMillisecond;
using gpusim::Worker;

using Work = std::function<void(Worker&)>;

Work free_running(std::uint64_t ns) {
    return [ns](Worker& worker) { worker.launch(ns); };
}

Work launch_and_wait(std::uint64_t ns) {
    return [ns](Worker& worker) {
        worker.launch(ns);
        worker.wait();
    };
}

struct Tenant {
    ShareOfTime share;
    Work work;
    int expected;  // percent of the card
};

void expect_shares(const std::vector<Tenant>& tenants,
                   gpusim::Engine engine = gpusim::Engine::compute) {
    std::vector<ShareOfTime> shares;
    for (const Tenant& tenant : tenants)
        shares.push_back(tenant.share);
    const SharedCard card(shares);
    std::vector<std::unique_ptr<gpusim::Peer>> peers;
    for (std::size_t i = 0; i < tenants.size(); i++)
        peers.push_back(start_worker(card.container(i), tenants[i].work));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const std::int64_t start = monotonic_ns();
    std::vector<std::int64_t> before(tenants.size());
    for (std::size_t i = 0; i < tenants.size(); i++)
        before[i] = card.used_ns(peers[i]->pid(), engine, start);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    const std::int64_t end = monotonic_ns();
    for (std::size_t i = 0; i < tenants.size(); i++) {
        const std::int64_t used = card.used_ns(peers[i]->pid(), engine, end) - before[i];
        const double percent = 100.0 * static_cast<double>(used) / static_cast<double>(end - start);
        std::printf("    wanted %d %%, got %.1f %%\n", tenants[i].expected, percent);
        EXPECT_NEAR(percent, tenants[i].expected, 5);
    }
}

TEST(GuardShares, FreeRunning) {
    expect_shares(
        {{{10, 10}, free_running(kMillisecond), 10}, {{90, 90}, free_running(kMillisecond), 90}});
}

TEST(GuardShares, LaunchAndWait) {
    expect_shares({{{10, 10}, launch_and_wait(kMillisecond), 10},
                   {{90, 90}, launch_and_wait(kMillisecond), 90}});
}

TEST(GuardShares, SmallKernels) {
    expect_shares({{{30, 30}, free_running(50 * kMicrosecond), 30},
                   {{70, 70}, free_running(50 * kMicrosecond), 70}});
}

TEST(GuardShares, LongKernelsBesideSmallOnes) {
    expect_shares({{{30, 30}, free_running(60 * kMillisecond), 30},
                   {{70, 70}, free_running(200 * kMicrosecond), 70}});
}

TEST(GuardShares, ACapHoldsAlone) {
    expect_shares({{{25, 25}, free_running(kMillisecond), 25}});
}

TEST(GuardShares, UnlimitedNeighboursGetTheRest) {
    expect_shares(
        {{{30, 30}, free_running(kMillisecond), 30}, {{0, 100}, free_running(kMillisecond), 70}});
}

TEST(GuardShares, WhatOneDoesNotUseOthersHave) {
    expect_shares(
        {{{50, 100}, [](Worker&) { std::this_thread::sleep_for(std::chrono::seconds(1)); }, 0},
         {{30, 100}, free_running(kMillisecond), 60},
         {{20, 100}, free_running(kMillisecond), 40}});
}

TEST(GuardShares, MixedWaysOfWorking) {
    expect_shares({{{20, 20}, launch_and_wait(200 * kMicrosecond), 20},
                   {{30, 30}, free_running(5 * kMillisecond), 30},
                   {{50, 50}, free_running(100 * kMicrosecond), 50}});
}

TEST(GuardShares, Graphs) {
    const Work graph = [](Worker& worker) {
        static CUgraphExec exec = nullptr;
        if (exec == nullptr) {
            CUgraph made = nullptr;
            CUstream stream = worker.make_stream();
            CALL(worker.cuda, cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
            for (int i = 0; i < 10; i++)
                worker.launch(100 * kMicrosecond, stream);
            EXPECT_EQ(CALL(worker.cuda, cuStreamEndCapture)(stream, &made), CUDA_SUCCESS);
            EXPECT_EQ(CALL(worker.cuda, cuGraphInstantiateWithFlags)(&exec, made, 0), CUDA_SUCCESS);
        }
        CALL(worker.cuda, cuGraphLaunch)(exec, nullptr);
    };
    expect_shares({{{20, 20}, graph, 20}, {{80, 80}, graph, 80}});
}

TEST(GuardShares, Copies) {
    const Work copy = [](Worker& worker) {
        static std::vector<char> host(std::size_t{1} << 20);
        static CUdeviceptr memory = 0;
        static CUstream stream = worker.make_stream();
        if (memory == 0) CALL(worker.cuda, cuMemAlloc_v2)(&memory, host.size());
        CALL(worker.cuda, cuMemcpyHtoDAsync_v2)(memory, host.data(), host.size(), stream);
        CALL(worker.cuda, cuStreamSynchronize)(stream);
    };
    expect_shares({{{20, 20}, copy, 20}}, gpusim::Engine::copies);
}

}  // namespace
}  // namespace tessera::guard
