// Goal: a node whose runtime would leave out the GPUs, or that has no device for them, is named
// with the fix; otherwise the runtime of each node is shown.
#include "domain/doctor/injection_check.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

Node node(const std::string& name, const std::string& runtime, const std::string& identity) {
    Node out;
    out.inventory.name = NodeName(name);
    out.has_report = true;
    out.runtime = runtime;
    out.identity = identity;
    return out;
}

Facts facts_of(std::vector<Node> nodes) {
    Facts facts;
    facts.nodes = std::move(nodes);
    return facts;
}

TEST(InjectionCheck, ShowsTheRuntimes) {
    Node other = node("other", "containerd://2.0.5", "nri");
    other.has_report = false;
    const Judgement good = injection(
        facts_of({node("a", "containerd://2.3.7", "nri"), node("b", "containerd://2.3.7", "nri"),
                  node("c", "cri-o://1.34.2", "nri"), node("d", "containerd://1.7.2", "kubelet"),
                  node("e", "odd", "nri"), other}));
    EXPECT_EQ(good.status, Status::ok);
    EXPECT_EQ(
        good.found,
        "a runtime without a name odd on 1 node, containerd 1.7.2 on 1 node, containerd 2.3.7 on "
        "2 nodes, cri-o 1.34.2 on 1 node");
    EXPECT_EQ(injection(facts_of({})).status, Status::ok);
}

TEST(InjectionCheck, RuntimesThatDropCdiDevices) {
    const Judgement bad = injection(
        facts_of({node("a", "containerd://2.0.5", "nri"), node("b", "containerd://2.3.7", "nri")}));
    EXPECT_EQ(bad.status, Status::failed);
    EXPECT_NE(bad.found.find("a: containerd 2.0.5 ignores CDI devices"), std::string::npos);
    EXPECT_EQ(bad.found.find("b: "), std::string::npos);
}

TEST(InjectionCheck, GpusWithoutADevice) {
    Node bare = node("a", "containerd://2.3.7", "nri");
    bare.inventory.injection_fault = "no CDI device of kind nvidia.com/gpu for GPU-1 in /etc/cdi";
    const Judgement bad = injection(facts_of({bare}));
    EXPECT_EQ(bad.status, Status::warning);
    EXPECT_NE(bad.found.find("a: no CDI device"), std::string::npos);
    EXPECT_NE(bad.fix.find("--cdi-kind"), std::string::npos);
}

// Goal: if the GPU pods of such a node name a RuntimeClass, and one of them was started, there is
// nothing to do. A pod that names none would be refused.
TEST(InjectionCheck, PodsThatNameARuntimeClass) {
    Node bare = node("a", "containerd://2.3.7", "nri");
    bare.inventory.injection_fault = "no CDI device of kind nvidia.com/gpu for GPU-1 in /etc/cdi";
    const auto gpu_pod = [](const std::string& on, const std::string& runtime_class) {
        Pod out;
        out.info = build::pod("p", build::native(gibibytes(4)));
        out.info.node = NodeName(on);
        out.info.started = true;
        out.runtime_class = runtime_class;
        return out;
    };
    const auto judged = [&](std::vector<Pod> pods) {
        Facts facts = facts_of({bare, node("b", "containerd://2.3.7", "nri")});
        facts.pods = std::move(pods);
        return injection(facts);
    };
    EXPECT_EQ(judged({gpu_pod("a", "nvidia"), gpu_pod("b", "")}).status, Status::ok);
    EXPECT_NE(judged({gpu_pod("a", "nvidia")}).found.find("1 node without CDI devices"),
              std::string::npos);
    EXPECT_EQ(judged({gpu_pod("a", "nvidia"), gpu_pod("a", "")}).status, Status::warning);
    EXPECT_EQ(judged({gpu_pod("b", "nvidia")}).status, Status::warning);
    Pod waits = gpu_pod("a", "kata");
    waits.info.started = false;
    EXPECT_EQ(judged({waits}).status, Status::warning) << "nothing shows that it gets its GPU";
    waits.info.finished = true;
    EXPECT_EQ(judged({waits, gpu_pod("a", "nvidia")}).status, Status::ok);
}

// Goal: a RuntimeClass that does not exist is named, with the value of the chart that names it: the
// API server refuses such pods, which no other check explains.
TEST(InjectionCheck, MissingRuntimeClass) {
    Facts facts = facts_of({node("a", "containerd://2.3.7", "nri")});
    facts.agents->runtime_class = "nvidia";
    facts.controller->tenants_runtime_class = "gpu";
    facts.runtime_classes = std::set<std::string>{"gpu", "nvidia"};
    EXPECT_EQ(injection(facts).status, Status::ok);
    facts.runtime_classes = std::set<std::string>{"nvidia"};
    EXPECT_EQ(injection(facts).status, Status::failed);
    EXPECT_EQ(injection(facts).found,
              "there is no RuntimeClass gpu, which the webhook gives to pods that request GPUs");
    EXPECT_NE(injection(facts).fix.find("webhook.runtimeClassName"), std::string::npos);
    facts.runtime_classes = std::set<std::string>();
    EXPECT_EQ(injection(facts).found,
              "there is no RuntimeClass nvidia, which the agents' pods name");
    EXPECT_NE(injection(facts).fix.find("agent.driver.runtimeClassName"), std::string::npos);
    EXPECT_NE(injection(facts).fix.find("cdi.nriPluginEnabled"), std::string::npos);
    facts.runtime_classes = fail(Code::permission_denied, "list runtimeclasses");
    EXPECT_EQ(injection(facts).status, Status::skipped);
    facts.agents->runtime_class = "";
    facts.controller->tenants_runtime_class = "";
    EXPECT_EQ(injection(facts).status, Status::ok);
}

TEST(InjectionCheck, NodesThatCannotBeRead) {
    Facts facts;
    facts.nodes = fail(Code::permission_denied, "list nodes");
    EXPECT_EQ(injection(facts).status, Status::skipped);
}

}  // namespace
}  // namespace tessera::doctor
