#include "app/cli/explain_text.hpp"

#include <gtest/gtest.h>

#include "app/cli/assumed_policy.hpp"

namespace tessera {
namespace {

NodeStory fits(const std::string& node, std::int64_t score) {
    return {.node = NodeName(node),
            .fits = true,
            .score = score,
            .terms = {{"fill", -120.4}, {"price", 0.5}},
            .cards = {{GpuUuid("GPU-1"), 1, "Tesla T4", gibibytes(16)}}};
}

NodeStory refuses(const std::string& node, const std::string& why) {
    return {.node = NodeName(node), .why = why};
}

// Goal: a person reads where the pod goes and why, and what the others lack, alike ones in one
// line.
TEST(ExplainText, IsReadable) {
    const PodStory story{
        .pod = {"default", "waits"},
        .policy = "expected-fill",
        .learns = true,
        .learnt = 7,
        .slips = {"annotation x is not known"},
        .gang = "It is of gang g.",
        .nodes = {fits("n1", 3), fits("n2", -2), refuses("n3", "full"), refuses("n4", "cordoned"),
                  refuses("n5", "full")},
    };
    EXPECT_EQ(explain_text(story, 0), "Pod default/waits waits. " +
                                          assumed_policy_text("expected-fill") +
                                          "; learnt from 7 pods, those of now.\n"
                                          "Warning: annotation x is not known\n"
                                          "It is of gang g.\n"
                                          "NODE  SCORE  GPU            MADE OF\n"
                                          "n1    3      1 (16Gi free)  fill -120, price 0.50\n"
                                          "n2    -2     1 (16Gi free)  fill -120, price 0.50\n"
                                          "Not on n4: cordoned\n"
                                          "Not on n3, n5: full\n");
    const std::string first = explain_text(story, 1);
    EXPECT_EQ(first.find("n2 "), std::string::npos);
    EXPECT_NE(first.find("... and 1 more; --all shows them.\n"), std::string::npos);
}

TEST(ExplainText, OfAPodThatIsPlacedAndOfBinpack) {
    const PodStory story{.pod = {"default", "there"},
                         .on = NodeName("n1"),
                         .policy = "binpack",
                         .policy_source = PodStory::Source::pod,
                         .nodes = {refuses("n1", "cordoned")}};
    EXPECT_EQ(explain_text(story, 10),
              "Pod default/there is on node n1. Its own policy is binpack.\n"
              "Were it placed anew now, among the others as they are:\n"
              "It fits on no node.\n"
              "Not on n1: cordoned\n");
    PodStory fitting = story;
    fitting.nodes = {fits("n1", -gibibytes(2).count)};
    EXPECT_NE(explain_text(fitting, 10).find("2Gi left"), std::string::npos);
}

TEST(ExplainText, AsJson) {
    const PodStory story{.pod = {"default", "waits"},
                         .policy = "fgd",
                         .slips = {"annotation x is not known"},
                         .nodes = {fits("n1", 3), refuses("n2", "full")}};
    EXPECT_EQ(explain_json(story),
              R"({"version":1,"namespace":"default","name":"waits","policy":"fgd",)"
              R"("warnings":["annotation x is not known"],)"
              R"("nodes":[{"node":"n1","fits":true,"score":3,"terms":[{"name":"fill",)"
              R"("value":-120.4},{"name":"price","value":0.5}],"gpus":[{"uuid":"GPU-1","index":1,)"
              R"("model":"Tesla T4","freeBytes":17179869184}]},)"
              R"({"node":"n2","fits":false,"why":"full"}]})");
}

}  // namespace
}  // namespace tessera
