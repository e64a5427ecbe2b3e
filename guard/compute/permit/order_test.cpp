// Goal: a container's launch permits for long work rotate among its processes by the GPU time that
// each has had. Method: one process under the facade, beside others that exist only as entries in
// the accounts. With real sibling processes, a sibling's share is what the simulated driver
// reports.
#include "guard/compute/permit/order.hpp"

#include <gtest/gtest.h>

#include "guard/region/clock.hpp"
#include "guard/test_support/ending_processes.hpp"
#include "guard/test_support/siblings.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMillisecond;
using gpusim::Worker;
using namespace std::chrono_literals;

class GuardOrder : public Siblings {
  protected:
    void SetUp() override { container_.grant_plenty(); }
    // Another process waits for a permit, and has had had_ns.
    void ask(int slot, std::int64_t had_ns) const {
        container_.grant_plenty();
        accounts().slots_end.store(kMaxProcesses);
        Accounts::Order& order = accounts().orders[0][0];
        order.had_ns[slot].store(had_ns);
        order.asked_ns[slot].store(monotonic_ns());
    }
};

TEST_F(GuardOrder, WhoHadLessComesFirst) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        ask(7, 0);
        launch_and_wait(30 * kMillisecond);
        EXPECT_GT(waited_ns(), 0);
    });
}

TEST_F(GuardOrder, WhoHadMoreComesLater) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        ask(7, INT64_MAX);
        launch_and_wait(30 * kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// It is dead, or has what it wanted.
TEST_F(GuardOrder, WhoDoesNotAskAgainHoldsNobodyUp) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        ask(7, 0);
        std::this_thread::sleep_for(30ms);
        container_.grant_plenty();
        launch_and_wait(30 * kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// Goal: invalid data from a tenant stops no process for long. Method: writes any numbers, also for
// a process that waits just now, then launches.
TEST_F(GuardOrder, AnythingMayStandThere) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        for (const std::int64_t any : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
            ask(7, any);
            Accounts::Order& order = accounts().orders[0][0];
            order.level_ns.store(any);
            order.had_ns[0].store(any);
            order.asked_ns[0].store(any);
            order.asked_ns[8].store(any);
            const std::int64_t before = waited_ns();
            launch_and_wait(30 * kMillisecond);
            EXPECT_LT(waited_ns() - before, 1'000'000'000);
        }
    });
}

// It had short work, for which no process waits for a permit.
TEST_F(GuardOrder, WhatWasHadLongAgoCountsForASecondAtMost) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        constexpr std::int64_t kHourNs = 3'600'000'000'000;
        constexpr std::int64_t kSecondNs = 1'000'000'000;
        accounts().times[0][0].in_flight[0].total_ns += kHourNs;
        ask(7, 0);
        launch_and_wait(30 * kMillisecond);
        EXPECT_GE(accounts().orders[0][0].had_ns[0].load(), kSecondNs);
        EXPECT_LE(accounts().orders[0][0].had_ns[0].load(), 2 * kSecondNs);
    });
}

// The slot's last owner may have been waiting.
TEST_F(GuardOrder, AProcessSlotIsNoPlaceInTheQueue) {
    accounts().orders[0][0].asked_ns[0].store(monotonic_ns());
    in_worker(kMillisecond, [&](const Worker&, const auto&) {
        EXPECT_EQ(accounts().orders[0][0].asked_ns[0].load(), 0);
    });
}

class GuardOrderOfProcesses : public testing::Test {
  protected:
    // Percent of the GPU's time, over that many seconds.
    static double percent(std::int64_t ns, std::chrono::seconds in) {
        return 100.0 * static_cast<double>(ns) /
               static_cast<double>(std::chrono::nanoseconds(in).count());
    }
    static std::int64_t used_ns(const SharedGpu& gpu, const gpusim::ChildProcess& child) {
        return gpu.used_ns(child.pid(), gpusim::Engine::compute, monotonic_ns());
    }
};

// A process with many threads runs beside one with a single thread. Each thread always waits for a
// long kernel.
TEST_F(GuardOrderOfProcesses, ManyThreadsDoNotStarveOne) {
    const SharedGpu gpu({{20, 20}, {80, 80}});
    const auto many = start_worker(gpu.container(0), in_threads(8, 30 * kMillisecond, false, true));
    const auto one = start_worker(gpu.container(0), launch_and_wait(30 * kMillisecond));
    const auto rest = start_worker(gpu.container(1), free_running(kMillisecond));
    std::this_thread::sleep_for(6s);
    const double of_many = percent(used_ns(gpu, *many), 6s);
    const double of_one = percent(used_ns(gpu, *one), 6s);
    std::printf("    %.1f and %.1f percent\n", of_many, of_one);
    EXPECT_GE(of_one * 4, of_many);
    EXPECT_GE(of_one + of_many, 10);
}

// While a process that wants next to nothing of the GPU wants nothing, no other process waits for
// it.
TEST_F(GuardOrderOfProcesses, OneOfLittleWorkDoesNotStarveOneOfLongKernels) {
    const SharedGpu gpu({{50, 100}});
    const auto little = start_worker(gpu.container(0), [](gpusim::Worker& worker) {
        worker.launch(10'000);
        worker.wait();
        std::this_thread::sleep_for(1ms);
    });
    const auto much = start_worker(gpu.container(0), launch_and_wait(20 * kMillisecond));
    std::this_thread::sleep_for(3s);
    const double of_much = percent(used_ns(gpu, *much), 3s);
    std::printf("    %.1f percent\n", of_much);
    EXPECT_GE(of_much, 50);
}

// Processes that keep coming and going do not always come before one that stays.
TEST_F(GuardOrderOfProcesses, NewcomersDoNotStarveOneThatStays) {
    const SharedGpu gpu({{20, 20}, {80, 80}});
    const auto rest = start_worker(gpu.container(1), free_running(kMillisecond));
    const auto stays = start_worker(gpu.container(0), launch_and_wait(20 * kMillisecond));
    const Tally tally;
    const auto come_and_go = start_ending(gpu.container(0), 4, 20 * kMillisecond, tally);
    std::this_thread::sleep_for(8s);
    const double of_it = percent(used_ns(gpu, *stays), 8s);
    const double of_them = percent(tally.ns(), 8s);
    std::printf("    %.1f and %.1f percent\n", of_it, of_them);
    EXPECT_GE(of_it * 16, of_them);
    EXPECT_GE(of_it + of_them, 10);
}

// A process has paid for its long kernel once the others have had as much time.
TEST_F(GuardOrderOfProcesses, OneLongKernelIsNotHeldAgainstItForEver) {
    const SharedGpu gpu({{50, 100}});
    const auto other = start_worker(gpu.container(0), launch_and_wait(20 * kMillisecond));
    gpusim::ChildProcess once_long([&](gpusim::Wire& wire) {
        gpusim::Worker worker(gpu.container(0).facade());
        const auto fifty = [&] {
            for (int i = 0; i < 50; i++) {
                worker.launch(kMillisecond);
                worker.wait();
            }
        };
        fifty();
        worker.launch(300 * kMillisecond);
        worker.wait();
        fifty();
        const std::int64_t before = monotonic_ns();
        fifty();
        wire.send(static_cast<std::uint64_t>(monotonic_ns() - before));
    });
    const auto took_ns = once_long.wire().receive();
    std::printf("    %.0f ms\n", static_cast<double>(took_ns) / 1e6);
    EXPECT_LT(took_ns, 1000 * kMillisecond);
}

}  // namespace
}  // namespace tessera::guard
