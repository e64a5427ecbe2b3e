#include "simulator/replay/plot.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

SimRun run(const std::string& trace, const std::string& policy, double at_100, double at_130) {
    SimRun out{.name = {trace, 42}, .policy = policy};
    out.curve[10] = {.tasks = 1, .allocation = 10};
    out.curve[100] = {.tasks = 1, .allocation = at_100};
    out.curve[130] = {.tasks = 1, .allocation = at_130};
    return out;
}

// Goal: a panel per trace, and a line per policy through the means of its runs, from the requested
// begin. Method: means by hand.
TEST(Plot, MeansOfRuns) {
    const std::vector runs{run("a", "P", 90, 95), run("a", "P", 90, 97), run("a", "Q", 91, 92)};
    const Chart chart = replay_chart(runs, {.from = 100});
    EXPECT_EQ(chart.ticks, (std::vector{100, 110, 120, 130}));
    ASSERT_EQ(chart.panels.size(), 1U);
    EXPECT_EQ(chart.panels[0].title, "a");
    ASSERT_EQ(chart.panels[0].lines.size(), 2U);
    const auto& [name, points] = chart.panels[0].lines[0];
    EXPECT_EQ(name, "P");
    ASSERT_EQ(points.size(), 2U) << "none at 10, which is before the begin, and none without tasks";
    EXPECT_EQ(points[0].across, 100);
    EXPECT_EQ(points[0].up, 90);
    EXPECT_EQ(points[1].across, 130);
    EXPECT_EQ(points[1].up, 96);
}

// Goal: a chart without data is not an error.
TEST(Plot, Nothing) {
    EXPECT_TRUE(replay_chart({}, {}).panels.empty());
    const std::vector none{SimRun{.name = {"a", 1}, .policy = "P"}};
    const Chart chart = replay_chart(none, {});
    ASSERT_EQ(chart.panels.size(), 1U);
    EXPECT_TRUE(chart.panels[0].lines[0].second.empty());
}

}  // namespace
}  // namespace tessera
