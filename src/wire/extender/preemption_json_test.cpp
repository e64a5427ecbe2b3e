#include "wire/extender/preemption_json.hpp"

#include <gtest/gtest.h>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPod =
    R"("Pod":{"metadata":{"uid":"u"},"spec":{"priority":7,"containers":[{"name":"c",)"
    R"("resources":{"limits":{"aliyun.com/gpu-mem":"3"}}}]}})";

std::string body(std::string_view rest) {
    return "{" + std::string(kPod) + "," + std::string(rest) + "}";
}

// Goal: the forms that kube-scheduler posts with nodeCacheCapable, and without it.
TEST(PreemptionArgs, BothForms) {
    const auto meta = read_preemption_args(
        body(R"("NodeNameToVictims":null,"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},)"
             R"({"UID":"b"}],"NumPDBViolations":2},"n2":{"Pods":[],"NumPDBViolations":0}})"));
    ASSERT_TRUE(meta) << meta.error().text;
    EXPECT_EQ(meta->pod.priority, 7);
    EXPECT_EQ(meta->pod.containers.size(), 1U);
    EXPECT_EQ(meta->nodes,
              (std::vector<NodeVictims>{{NodeName("n1"), {PodUid("a"), PodUid("b")}, 2},
                                        {NodeName("n2"), {}, 0}}));
    const auto whole =
        read_preemption_args(body(R"("NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"uid":"a"}}],)"
                                  R"("NumPDBViolations":1}},"NodeNameToMetaVictims":null)"));
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->nodes, (std::vector<NodeVictims>{{NodeName("n1"), {PodUid("a")}, 1}}));
}

// Goal: an invalid request is refused, with the field; invalid victims are left out.
TEST(PreemptionArgs, Refusals) {
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {"", "EOF"},
             {"{", "JSON"},
             {"[]", "Pod"},
             {R"({"Pod":null,"NodeNameToMetaVictims":{}})", "Pod"},
             {body(R"("NodeNameToMetaVictims":[])"), "NodeNameToMetaVictims"}}) {
        const auto args = read_preemption_args(text);
        ASSERT_FALSE(args) << text;
        EXPECT_EQ(args.error().code, Code::invalid_argument);
        EXPECT_NE(args.error().text.find(expected), std::string::npos) << args.error().text;
    }
    const auto odd = read_preemption_args(
        body(R"("NodeNameToMetaVictims":{"n1":null,"n2":{"Pods":7},"n3":{"Pods":[null,{}]}})"));
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->nodes.size(), 3U);
    EXPECT_EQ(odd->nodes[2].pods, (std::vector<PodUid>{PodUid(), PodUid()}));
}

// Goal: the answer has the form that kube-scheduler reads.
TEST(PreemptionResult, Text) {
    EXPECT_EQ(write_preemption_result({}), R"({"NodeNameToMetaVictims":{}})");
    EXPECT_EQ(write_preemption_result({{NodeName("n1"), {PodUid("a"), PodUid("b")}, 1}}),
              R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}],)"
              R"("NumPDBViolations":1}}})");
}

}  // namespace
}  // namespace tessera
