#include "wire/kube/doctor_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

ControllerFlags flags_of(const std::string& container) {
    const auto document =
        JsonDocument::parse(R"({"spec":{"template":{"spec":{"containers":[)" + container + "]}}}}");
    EXPECT_TRUE(document) << document.error().text;
    return read_controller_flags(document->root());
}

std::string policy_of(const std::string& container) {
    return flags_of(container).policy;
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

// Goal: the only scheduler that calls the controller is known in mode=scheduler alone. In extender
// mode the webhook may name one, but others may call the controller, too.
TEST(DoctorJson, OwnScheduler) {
    const std::string lease = R"("--scheduler-lease=t/tessera-scheduler")";
    EXPECT_EQ(flags_of(R"({"args":["--policy=fgd",)" + lease + R"(,"--webhook-scheduler=s"]})"),
              (ControllerFlags{"fgd", "s"}));
    EXPECT_EQ(flags_of(R"({"args":["--webhook-scheduler","s",)" + lease + "]}").scheduler, "s");
    EXPECT_EQ(flags_of(R"({"args":["--webhook-scheduler=s"]})").scheduler, "");
    EXPECT_EQ(flags_of(R"({"args":[)" + lease + "]}").scheduler, "");
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
        R"({"metadata":{"name":"n1","labels":{"tessera.dev/agent-config":"a"}},)"
        R"("spec":{"taints":[{"key":"t","effect":"NoSchedule"}]}})");
    EXPECT_EQ(read_doctor_node(node->root(), {}).agent_config, "a");
    EXPECT_EQ(read_doctor_node(node->root(), {}).taints, (std::set<std::string>{"t"}));
}

// Goal: what a pod runs and requests of other products is read from all its containers.
TEST(DoctorJson, ProgramsAndForeignRequests) {
    const auto document = JsonDocument::parse(
        R"({"spec":{"initContainers":[{"image":"i","name":"wait","command":["sh","-c"]}],)"
        R"("containers":[{"image":"r/p:1","name":"gpus","command":["bash"],"args":["x -v 1"],)"
        R"("resources":{"limits":{"nvidia.com/gpu":"1","cpu":"1","nvidia.com/gpumem":"0"},)"
        R"("requests":{"volcano.sh/vgpu-number":"2"}}}]}})");
    const doctor::Pod pod = read_doctor_pod(document->root(), nullptr);
    EXPECT_EQ(pod.programs,
              (std::vector<doctor::Program>{{"i", "wait sh -c"}, {"r/p:1", "gpus bash x -v 1"}}));
    EXPECT_EQ(pod.foreign_requests,
              (std::set<std::string>{"nvidia.com/gpu", "volcano.sh/vgpu-number"}));
}

// Goal: the settings of the GPU Operator that Tessera depends on.
TEST(DoctorJson, ClusterPolicy) {
    const auto policy_of = [](const std::string& spec) {
        const auto document =
            JsonDocument::parse(R"({"metadata":{"name":"cp"},"spec":)" + spec + "}");
        return read_cluster_policy(document->root());
    };
    const doctor::GpuOperator both = policy_of(
        R"({"cdi":{"enabled":true,"nriPluginEnabled":true},"toolkit":{"env":[{"name":"A"},)"
        R"({"name":"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED","value":"false"}]}})");
    EXPECT_EQ(both.policy, "cp");
    EXPECT_TRUE(both.has_nri_plugin && both.refuses_environment);
    for (const char* spec :
         {"{}",
          R"({"cdi":{"enabled":false,"nriPluginEnabled":true},"toolkit":{"enabled":false,"env":[)"
          R"({"name":"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED","value":"false"}]}})",
          R"({"cdi":{"nriPluginEnabled":false},"toolkit":{"env":[{"name":)"
          R"("ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED","value":"true"}]}})"}) {
        EXPECT_FALSE(policy_of(spec).has_nri_plugin || policy_of(spec).refuses_environment);
    }
}

// Goal: a claim for monitoring takes no GPU from others.
TEST(DoctorJson, Claims) {
    const auto document = JsonDocument::parse(
        R"({"metadata":{"namespace":"n","name":"c"},"status":{"allocation":{"devices":{"results":[)"
        R"({"driver":"gpu.nvidia.com","pool":"a"},)"
        R"({"driver":"gpu.nvidia.com","pool":"b","adminAccess":true}]}}}})");
    const auto claims = read_claim(document->root());
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0].pool, "a");
}

// Goal: the RuntimeClasses that pods of Tessera and its tenants name.
TEST(DoctorJson, RuntimeClassesOfWorkloads) {
    const auto document = JsonDocument::parse(
        R"({"spec":{"template":{"spec":{"runtimeClassName":"nvidia","containers":[{"args":)"
        R"(["--webhook-runtime-class=gpu","--startup-taint=t","--nominate-for=s","--nominate-from=7"],"securityContext":{"privileged":true}}]}}}})");
    const doctor::Workload workload = read_workload(document->root());
    EXPECT_EQ(workload.runtime_class, "nvidia");
    EXPECT_EQ(workload.tenants_runtime_class, "gpu");
    EXPECT_EQ(workload.startup_taint, "t");
    EXPECT_EQ(workload.nominate_for, "s");
    EXPECT_EQ(workload.nominate_from, 7);
    EXPECT_TRUE(workload.is_privileged);
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
