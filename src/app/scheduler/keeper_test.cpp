#include "app/scheduler/keeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: changes are applied one after the other in the order of posting; a question sees all that
// was posted before it.
TEST(Keeper, AppliesInOrder) {
    Keeper keeper;
    std::vector<int> order;
    for (int i = 0; i < 100; ++i)
        keeper.post([&order, i](ClusterState&) { order.push_back(i); });
    const std::size_t seen = keeper.ask([&](ClusterState&) { return order.size(); });
    EXPECT_EQ(seen, 100U);
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

// Goal: no two changes run at once, whoever posts. Method: threads that add to a plain number.
TEST(Keeper, OneAtATime) {
    Keeper keeper;
    int sum = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 200; ++i) {
                    keeper.post([&](ClusterState&) { ++sum; });
                    if (i % 50 != 0) continue;
                    EXPECT_GT(keeper.ask([&](ClusterState&) { return sum; }), 0);
                }
            });
        }
    }
    EXPECT_EQ(keeper.ask([&](ClusterState&) { return sum; }), 1600);
}

// Goal: a reader keeps the view it took, while others see what came after.
TEST(Keeper, ViewsAreKept) {
    Keeper keeper;
    const auto before = keeper.view();
    ASSERT_NE(before, nullptr);
    keeper.post([](ClusterState& state) { state.set_node(build::node("n1", 1, gibibytes(16))); });
    for (int i = 0; i < 2; ++i)
        keeper.ask([](ClusterState&) { return 0; });
    EXPECT_EQ(before->find("n1"), nullptr);
    EXPECT_NE(keeper.view()->find("n1"), nullptr);
}

// Goal: the end does what was posted first, and readers meanwhile are safe.
TEST(Keeper, EndsAfterWhatWasPosted) {
    std::atomic<int> done = 0;
    {
        Keeper keeper;
        std::jthread reader([&keeper](const std::stop_token& stop) {
            while (!stop.stop_requested())
                (void)keeper.view()->nodes().size();
        });
        for (int i = 0; i < 50; ++i)
            keeper.post([&](ClusterState&) { ++done; });
        reader.request_stop();
        reader.join();
    }
    EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace tessera
