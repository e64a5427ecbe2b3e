#include "app/cli/explain_text.hpp"

#include <gtest/gtest.h>

#include "app/cli/assumed_policy.hpp"

namespace tessera {
namespace {

NodeExplanation fits(const std::string& node, std::int64_t score) {
    return {.node = NodeName(node),
            .fits = true,
            .score = score,
            .terms = {{"fill", -120.4}, {"price", 0.5}},
            .gpus = {{GpuUuid("GPU-1"), 1, "Tesla T4", gibibytes(16)}}};
}

NodeExplanation refuses(const std::string& node, const std::string& why) {
    return {.node = NodeName(node), .why = why};
}

// Goal: a person reads where the pod goes and why, and why the other nodes do not fit, with equal
// reasons in one line.
TEST(ExplainText, IsReadable) {
    const PodExplanation explanation{
        .pod = {"default", "waits"},
        .policy = "expected-fill",
        .learns = true,
        .learnt = 7,
        .unknown_annotations = {"annotation x is not known"},
        .gang = "It is of gang g.",
        .nodes = {fits("n1", 3), fits("n2", -2), refuses("n3", "full"), refuses("n4", "cordoned"),
                  refuses("n5", "full")},
    };
    EXPECT_EQ(explain_text(explanation, 0),
              "Pod default/waits is pending. " + assumed_policy_text("expected-fill") +
                  "; learned from 7 pods of the current cluster.\n"
                  "Warning: annotation x is not known\n"
                  "It is of gang g.\n"
                  "NODE  SCORE  GPU            MADE OF\n"
                  "n1    3      1 (16Gi free)  fill -120, price 0.50\n"
                  "n2    -2     1 (16Gi free)  fill -120, price 0.50\n"
                  "Not on n4: cordoned\n"
                  "Not on n3, n5: full\n");
    const std::string first = explain_text(explanation, 1);
    EXPECT_EQ(first.find("n2 "), std::string::npos);
    EXPECT_NE(first.find("... and 1 more; --all shows them.\n"), std::string::npos);
}

TEST(ExplainText, OfAPodThatIsPlacedAndOfBinpack) {
    const PodExplanation explanation{.pod = {"default", "there"},
                                     .on = NodeName("n1"),
                                     .policy = "binpack",
                                     .policy_source = PodExplanation::Source::pod,
                                     .nodes = {refuses("n1", "cordoned")}};
    EXPECT_EQ(explain_text(explanation, 10),
              "Pod default/there is on node n1. Its own policy is binpack.\n"
              "If it were placed again now, with all other pods in place:\n"
              "It fits on no node.\n"
              "Not on n1: cordoned\n");
    PodExplanation fitting = explanation;
    fitting.nodes = {fits("n1", -gibibytes(2).count)};
    EXPECT_NE(explain_text(fitting, 10).find("2Gi left"), std::string::npos);
    fitting.nodes = {fits("n1", -5'590'000'000)};
    fitting.nodes[0].gpus[0].free = Bytes{7'000'000'001};
    const std::string odd = explain_text(fitting, 10);
    EXPECT_NE(odd.find("5331Mi left"), std::string::npos) << odd;
    EXPECT_NE(odd.find("1 (6675Mi free)"), std::string::npos) << odd;
    EXPECT_NE(explain_json(fitting).find("\"freeBytes\":7000000001"), std::string::npos);
    PodExplanation nowhere = explanation;
    nowhere.nodes = {};
    EXPECT_NE(explain_text(nowhere, 10).find("no node has GPUs of Tessera"), std::string::npos);
}

// Goal: the text does not say that all is well if the pod's scheduler does not call Tessera, or if
// that is not known.
TEST(ExplainText, OfTheScheduler) {
    PodExplanation waits{.pod = {"default", "waits"}, .policy = "fgd", .nodes = {fits("n1", 3)}};
    const auto ends_with = [&](const std::string& end) {
        const std::string text = explain_text(waits, 0);
        EXPECT_TRUE(text.ends_with(end)) << text;
    };
    ends_with(
        "It fits. If it stays pending, the cause is not the GPUs (kubectl describe pod waits -n "
        "default).\n");
    waits.scheduler.caveat = "Whether s calls Tessera is not known.";
    ends_with(
        "It fits. Whether s calls Tessera is not known. If it stays pending, its events may say "
        "why (kubectl describe pod waits -n default).\n");
    waits.scheduler.faults = {"spec.schedulerName is s"};
    ends_with("Tessera has GPUs for it. If it stays pending, see the warning above.\n");
    EXPECT_NE(explain_text(waits, 0).find("\nWarning: spec.schedulerName is s\n"),
              std::string::npos);
    waits.unknown_annotations = {"annotation x is not known"};
    EXPECT_NE(explain_json(waits).find(
                  R"("warnings":["annotation x is not known","spec.schedulerName is s"])"),
              std::string::npos);
}

TEST(ExplainText, AsJson) {
    const PodExplanation explanation{.pod = {"default", "waits"},
                                     .policy = "fgd",
                                     .unknown_annotations = {"annotation x is not known"},
                                     .nodes = {fits("n1", 3), refuses("n2", "full")}};
    EXPECT_EQ(explain_json(explanation),
              R"({"version":1,"namespace":"default","name":"waits","policy":"fgd",)"
              R"("warnings":["annotation x is not known"],)"
              R"("nodes":[{"node":"n1","fits":true,"score":3,"terms":[{"name":"fill",)"
              R"("value":-120.4},{"name":"price","value":0.5}],"gpus":[{"uuid":"GPU-1","index":1,)"
              R"("model":"Tesla T4","freeBytes":17179869184}]},)"
              R"({"node":"n2","fits":false,"why":"full"}]})");
}

}  // namespace
}  // namespace tessera
