// Goal: a container's turns for long work go round among its processes by what each has had.
// Method: one process under the facade beside others of which there is but what they would say in
// the accounts; a sibling's share, with real ones, is what the simulated driver says it had.
#include "guard/compute/order.hpp"

#include <gtest/gtest.h>

#include "guard/region/grant.hpp"
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
    // Another process asks now, and goes on to, as its turn is at `next_ns`.
    void ask(int slot, std::int64_t next_ns) const {
        accounts().slots_end.store(kMaxProcesses);
        Accounts::Order& order = accounts().orders[0][0];
        order.next_ns[slot].store(next_ns);
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
        std::this_thread::sleep_for(50ms);
        launch_and_wait(30 * kMillisecond);
        EXPECT_EQ(waited_ns(), 0);
    });
}

// Goal: what stands there by a tenant's doing stops nobody. Method: any numbers, then a launch.
TEST_F(GuardOrder, AnythingMayStandThere) {
    in_worker(30 * kMillisecond, [&](const Worker&, const auto& launch_and_wait) {
        for (const std::int64_t any : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
            Accounts::Order& order = accounts().orders[0][0];
            order.turn_ns.store(any);
            order.next_ns[0].store(any);
            order.asked_ns[0].store(any);
            order.asked_ns[7].store(any);
            launch_and_wait(30 * kMillisecond);
        }
    });
}

// A process of many threads beside one of one, each of which always waits for a long kernel.
TEST(GuardOrderOfProcesses, ManyThreadsDoNotStarveOne) {
    const SharedCard card({{20, 20}, {80, 80}});
    const auto many =
        start_worker(card.container(0), in_threads(8, 30 * kMillisecond, false, true));
    const auto one = start_worker(card.container(0), launch_and_wait(30 * kMillisecond));
    const auto rest = start_worker(card.container(1), free_running(kMillisecond));
    std::this_thread::sleep_for(6s);
    const std::int64_t now = monotonic_ns();
    const auto used = [&](const auto& peer) {
        return card.used_ns(peer->pid(), gpusim::Engine::compute, now);
    };
    std::printf("    %.0f ms and %.0f ms\n", static_cast<double>(used(many)) / 1e6,
                static_cast<double>(used(one)) / 1e6);
    EXPECT_GE(used(one) * 4, used(many));
}

}  // namespace
}  // namespace tessera::guard
