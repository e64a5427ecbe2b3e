#include "wire/kube/doctor_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string policy_of(const std::string& container) {
    const auto document =
        JsonDocument::parse(R"({"spec":{"template":{"spec":{"containers":[)" + container + "]}}}}");
    EXPECT_TRUE(document) << document.error().text;
    return read_policy_flag(document->root());
}

// Goal: the flag is found in each form, the last one counts, and without it the default counts.
TEST(DoctorJson, PolicyFlag) {
    EXPECT_EQ(policy_of(R"({"args":["--port=1","--policy=fgd"]})"), "fgd");
    EXPECT_EQ(policy_of(R"({"command":["/c","--policy","spread"],"args":["--port=1"]})"), "spread");
    EXPECT_EQ(policy_of(R"({"args":["--policy=fgd","--policy=packing"]})"), "packing");
    EXPECT_EQ(policy_of(R"({"args":["--policy-file=x"]})"), "binpack");
    EXPECT_EQ(policy_of(R"({"args":3})"), "binpack");
    EXPECT_EQ(policy_of(""), "binpack");
}

// Goal: the names of the agents' configurations are found in the DaemonSet, and a Node's choice in
// its label.
TEST(DoctorJson, AgentConfigs) {
    const auto names_of = [](const std::string& arguments) {
        const auto document = JsonDocument::parse(
            R"({"spec":{"template":{"spec":{"containers":[{"args":[)" + arguments + "]}]}}}}");
        EXPECT_TRUE(document) << document.error().text;
        return read_workload(document->root()).node_configs;
    };
    EXPECT_EQ(*names_of(R"("--node-configs={\"a\":{},\"b\":{\"slots_per_gpu\":1}}")"),
              (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(names_of(R"("--slots-per-gpu=8")")->size(), 0U);
    EXPECT_EQ(names_of(R"("--node-configs=x")").error().code, Code::invalid_argument);
    const auto node = JsonDocument::parse(
        R"({"metadata":{"name":"n1","labels":{"tessera.dev/agent-config":"a"}}})");
    EXPECT_EQ(read_doctor_node(node->root(), {}).agent_config, "a");
}

TEST(DoctorJson, PodsRuntimeClass) {
    const auto runtime_class_of = [](const std::string& spec) {
        const auto document = JsonDocument::parse(R"({"spec":{)" + spec + "}}");
        EXPECT_TRUE(document) << document.error().text;
        return read_doctor_pod(document->root(), nullptr).runtime_class;
    };
    EXPECT_EQ(runtime_class_of(R"("runtimeClassName":"nvidia")"), "nvidia");
    EXPECT_EQ(runtime_class_of(R"("runtimeClassName":null)"), "");
    EXPECT_EQ(runtime_class_of(""), "");
}

}  // namespace
}  // namespace tessera
