#include "app/sim/plot.hpp"

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

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

// Goal: a panel per trace and a line per policy through the means of its runs, from where it is
// asked to begin. Method: heights by hand: 90 to 96 is drawn from the bottom to the top.
TEST(Plot, MeansOfRuns) {
    const std::vector runs{run("a", "P", 90, 95), run("a", "P", 90, 97), run("a", "Q", 91, 92)};
    const std::string svg = run_svg(runs, {.from = 100});
    EXPECT_EQ(count(svg, "class=\"title\""), 1U);
    EXPECT_NE(svg.find("stroke=\"#0072B2\" d=\"M56.0 216.0L406.0 30.0\""), std::string::npos)
        << svg;
    EXPECT_EQ(count(svg, "class=\"line\""), 4U) << "two lines, and two in the legend";
    EXPECT_EQ(svg, run_svg(runs, {.from = 100}));
}

// Goal: whatever stands in a name is text; nothing to draw is no fault.
TEST(Plot, OddInput) {
    const std::vector runs{run("<a>&", "P", 90, 95)};
    EXPECT_NE(run_svg(runs, {}).find(">&#60;a&#62;&#38;</text>"), std::string::npos);
    EXPECT_TRUE(run_svg({}, {}).ends_with("</svg>\n"));
    const std::vector none{SimRun{.name = {"a", 1}, .policy = "P"}};
    EXPECT_EQ(count(run_svg(none, {}), "class=\"line\""), 1U);
}

}  // namespace
}  // namespace tessera
