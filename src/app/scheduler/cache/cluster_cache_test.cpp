#include "app/scheduler/cache/cluster_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: changes are applied one after the other in the order of posting, and a call sees all that
// was posted before it.
TEST(ClusterCache, AppliesInOrder) {
    ClusterCache cache;
    std::vector<int> order;
    for (int i = 0; i < 100; ++i)
        cache.post([&order, i](ClusterState&) { order.push_back(i); });
    const std::size_t seen = cache.call([&](ClusterState&) { return order.size(); });
    EXPECT_EQ(seen, 100U);
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

// Goal: no two changes run at once, whichever threads post. Method: threads that add to a plain
// number.
TEST(ClusterCache, OneAtATime) {
    ClusterCache cache;
    int sum = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 200; ++i) {
                    cache.post([&](ClusterState&) { ++sum; });
                    if (i % 50 != 0) continue;
                    EXPECT_GT(cache.call([&](ClusterState&) { return sum; }), 0);
                }
            });
        }
    }
    EXPECT_EQ(cache.call([&](ClusterState&) { return sum; }), 1600);
}

// Goal: a reader keeps the snapshot that it took, while others see later ones.
TEST(ClusterCache, ViewsAreKept) {
    ClusterCache cache;
    const auto before = cache.snapshot();
    ASSERT_NE(before, nullptr);
    cache.post([](ClusterState& state) { state.set_node(build::node("n1", 1, gibibytes(16))); });
    for (int i = 0; i < 2; ++i)
        cache.call([](ClusterState&) { return 0; });
    EXPECT_EQ(before->find("n1"), nullptr);
    EXPECT_NE(cache.snapshot()->find("n1"), nullptr);
}

// Goal: a caller that does not wait for the owner can see that it hangs, and that it works again.
TEST(ClusterCache, ShowsAnOwnerThatHangs) {
    ClusterCache cache;
    EXPECT_FALSE(cache.unanswered_for());
    cache.call([](ClusterState&) { return 0; });
    std::promise<void> begun;
    std::promise<void> goes_on;
    cache.post([&](ClusterState&) {
        begun.set_value();
        goes_on.get_future().wait();
    });
    begun.get_future().wait();
    const auto first = cache.unanswered_for();
    ASSERT_TRUE(first);
    cache.post([](ClusterState&) {});
    EXPECT_GE(*cache.unanswered_for(), *first) << "the oldest counts";
    goes_on.set_value();
    // The answer is given before its batch is over; the second batch begins after the first's end.
    for (int i = 0; i < 2; ++i)
        cache.call([](ClusterState&) { return 0; });
    while (cache.unanswered_for())
        std::this_thread::yield();
}

// Goal: if nothing is posted, unanswered_for() is enough to detect an owner that hangs.
TEST(ClusterCache, IsAskedWhileNothingHappens) {
    int posted = 0;
    ClusterCache cache([&] { ++posted; });
    EXPECT_FALSE(cache.unanswered_for());
    EXPECT_EQ(posted, 1);
    EXPECT_TRUE(cache.unanswered_for());
    EXPECT_EQ(posted, 1) << "one empty change at a time";
    cache.apply();
    EXPECT_FALSE(cache.unanswered_for());
}

// Goal: the destructor first applies what was posted, and readers meanwhile are safe.
TEST(ClusterCache, EndsAfterWhatWasPosted) {
    std::atomic<int> done = 0;
    {
        ClusterCache cache;
        std::jthread reader([&cache](const std::stop_token& stop) {
            while (!stop.stop_requested())
                (void)cache.snapshot()->nodes().size();
        });
        for (int i = 0; i < 50; ++i)
            cache.post([&](ClusterState&) { ++done; });
        reader.request_stop();
        reader.join();
    }
    EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace tessera
