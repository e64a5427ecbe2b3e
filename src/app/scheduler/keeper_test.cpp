#include "app/scheduler/keeper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
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

// Goal: an owner that hangs is seen by who does not wait for it, and so is one that works again.
TEST(Keeper, ShowsAnOwnerThatHangs) {
    Keeper keeper;
    EXPECT_FALSE(keeper.unanswered_for());
    keeper.ask([](ClusterState&) { return 0; });
    std::promise<void> begun;
    std::promise<void> goes_on;
    keeper.post([&](ClusterState&) {
        begun.set_value();
        goes_on.get_future().wait();
    });
    begun.get_future().wait();
    const auto first = keeper.unanswered_for();
    ASSERT_TRUE(first);
    keeper.post([](ClusterState&) {});
    EXPECT_GE(*keeper.unanswered_for(), *first) << "the oldest counts";
    goes_on.set_value();
    // The answer is given before its batch is over; the second batch begins after the first's end.
    for (int i = 0; i < 2; ++i)
        keeper.ask([](ClusterState&) { return 0; });
    while (keeper.unanswered_for())
        std::this_thread::yield();
}

// Goal: where nothing is posted, looking is enough to find an owner that hangs.
TEST(Keeper, IsAskedWhileNothingHappens) {
    int posted = 0;
    Keeper keeper([&] { ++posted; });
    EXPECT_FALSE(keeper.unanswered_for());
    EXPECT_EQ(posted, 1);
    EXPECT_TRUE(keeper.unanswered_for());
    EXPECT_EQ(posted, 1) << "one question at a time";
    keeper.apply();
    EXPECT_FALSE(keeper.unanswered_for());
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
