// The checks `controller`, `agents` and `gpus`: updates, several faults at once, configurations of
// single nodes, and startup taints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "domain/doctor/checks.hpp"
#include "domain/health/excluded_gpus.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

// A node of Tessera with two GPUs.
Facts one_node() {
    return {.ns = "tessera-system",
            .api_version = "v1.36.3",
            .controller = Workload{1, 1, "c:0.1.0"},
            .agents = Workload{1, 1, "a:0.1.0"},
            .nodes = std::vector<Node>{{.inventory = build::node("n1", 2, gibibytes(16)),
                                        .has_report = true,
                                        .wants_agent = true,
                                        .agent_ready = true,
                                        .slots = 128}},
            .pods = std::vector<Pod>()};
}

Finding finding_of(const Facts& facts, std::string_view check) {
    const auto findings = examine(facts);
    return *std::ranges::find(findings, check, &Finding::check);
}

// Goal: a label that names a configuration is no fault; one that names none is, with all names.
TEST(DoctorAgentConfig, NamesInLabels) {
    Facts facts = one_node();
    EXPECT_EQ(finding_of(facts, "agents").status, Status::ok);
    facts.nodes->front().agent_config = "b";
    facts.agents->node_configs = std::set<std::string>{"a", "b"};
    EXPECT_EQ(finding_of(facts, "agents").status, Status::ok);
    facts.nodes->front().agent_config = "x";
    facts.nodes->front().agent_ready = false;
    const Finding found = finding_of(facts, "agents");
    EXPECT_EQ(found.status, Status::failed);
    EXPECT_EQ(found.found,
              "n1: its label tessera.dev/agent-config=x names no configuration; there are a, b");
    EXPECT_EQ(found.fix,
              "correct the label (kubectl label node NODE --overwrite "
              "tessera.dev/agent-config=NAME), or add the configuration to the chart's "
              "agent.nodeConfigs");
    facts.agents->node_configs = std::set<std::string>();
    EXPECT_TRUE(finding_of(facts, "agents").found.ends_with("; there is none"));
}

// Goal: configurations that no agent starts with are found without the agents' logs.
TEST(DoctorAgentConfig, CannotBeRead) {
    Facts facts = one_node();
    facts.agents->node_configs = fail(Code::invalid_argument, "node_configs: a: bad");
    EXPECT_EQ(finding_of(facts, "agents").status, Status::failed);
    EXPECT_EQ(finding_of(facts, "agents").found, "node_configs: a: bad");
}

// Goal: a node that a startup taint keeps closed is found, whatever its key should have been.
TEST(DoctorAgents, StartupTaintStays) {
    Facts facts = one_node();
    facts.agents->startup_taint = "example.com/starting";
    facts.nodes->front().taints = {"other"};
    EXPECT_EQ(finding_of(facts, "agents").status, Status::ok);
    for (const char* key : {"example.com/starting", "tessera.dev/agent-not-ready"}) {
        facts.nodes->front().taints = {"other", key};
        const Finding found = finding_of(facts, "agents");
        EXPECT_EQ(found.status, Status::warning);
        EXPECT_EQ(found.found, fmt::format("n1 has the startup taint {} and a ready agent", key));
        EXPECT_NE(found.fix.find("agent.startupTaint"), std::string::npos);
    }
    facts.agents->startup_taint = "";
    facts.nodes->front().taints = {""};
    EXPECT_EQ(finding_of(facts, "agents").status, Status::ok);
}

// Goal: a GPU that was excluded on purpose is no warning.
TEST(DoctorAgentConfig, ExcludedGpu) {
    Facts facts = one_node();
    Gpu& gpu = facts.nodes->front().inventory.gpus.front();
    gpu.condition = GpuCondition::not_shareable;
    gpu.reason = kExcludedReason;
    EXPECT_EQ(finding_of(facts, "gpus").status, Status::ok);
    EXPECT_EQ(finding_of(facts, "gpus").found, "2 GPUs, 1 of them excluded, the others healthy");
}

// Goal: faults of several kinds each have their fix, and a fix that two share appears once.
TEST(DoctorAgents, EachFaultHasItsFix) {
    Facts facts = one_node();
    const Node good = facts.nodes->front();
    const auto add = [&](const char* name) -> Node& {
        facts.nodes->push_back(good);
        facts.nodes->back().inventory.name = NodeName(name);
        return facts.nodes->back();
    };
    add("n2").wants_agent = false;
    add("n3").agent_ready = false;
    add("n4").has_report = false;
    const Finding found = finding_of(facts, "agents");
    EXPECT_EQ(found.status, Status::failed);
    EXPECT_EQ(found.found,
              "n2: its GPUs are published, but the DaemonSet does not select it; n3: no agent is "
              "ready there; n4: the agent has published no GPUs");
    EXPECT_TRUE(found.fix.starts_with("label it again (kubectl label node NODE")) << found.fix;
    const std::string second = "; kubectl -n tessera-system describe daemonset,pod";
    EXPECT_NE(found.fix.find(second), std::string::npos) << found.fix;
    EXPECT_EQ(found.fix.find(second), found.fix.rfind(second)) << "two faults share it";
}

// Goal: the last report of an agent that does not run is no proof that its GPUs are healthy.
TEST(DoctorGpus, WithoutReadyAgent) {
    Facts facts = one_node();
    facts.nodes->push_back(facts.nodes->front());
    facts.nodes->back().inventory.name = NodeName("n2");
    facts.nodes->back().agent_ready = false;
    Finding found = finding_of(facts, "gpus");
    EXPECT_EQ(found.status, Status::warning);
    EXPECT_EQ(
        found.found,
        "2 GPUs, all healthy; 2 more are on nodes without a ready agent, so their state is not "
        "known");
    EXPECT_EQ(found.fix, "see the check agents");
    facts.pods = fail(Code::permission_denied,
                      "list pods");  // then doctor cannot know which agents are ready
    found = finding_of(facts, "gpus");
    EXPECT_EQ(found.status, Status::ok);
    EXPECT_EQ(found.found, "4 GPUs, all healthy");
}

// Goal: an update whose new pod does not become ready is found while the old pods serve.
TEST(DoctorController, UpdateThatDoesNotEnd) {
    Facts facts = one_node();
    facts.controller = Workload{.wanted = 2, .ready = 2, .image = "c", .unavailable = 1};
    const Finding found = finding_of(facts, "controller");
    EXPECT_EQ(found.status, Status::warning);
    EXPECT_EQ(found.found, "2 of 2 controllers are ready, and 1 of an update is not");
    EXPECT_NE(found.fix.find("helm rollback tessera"), std::string::npos);
}

// Goal: with a wrong namespace no fix says to create a key or a Lease there.
TEST(Doctor, NotInstalled) {
    Facts facts = one_node();
    facts.ns = "wrong";
    facts.controller = fail(Code::not_found, "x");
    facts.lease = fail(Code::not_found, "x");
    facts.key = std::optional<Result<>>();
    facts.agents->signs = true;
    EXPECT_EQ(finding_of(facts, "key").status, Status::failed) << "the agents are there";
    facts.agents = fail(Code::not_found, "x");
    for (const char* check : {"key", "leader"}) {
        const Finding found = finding_of(facts, check);
        EXPECT_EQ(found.status, Status::skipped) << check;
        EXPECT_EQ(found.found, "Tessera is not installed in wrong");
        EXPECT_EQ(found.fix, "");
    }
    EXPECT_NE(finding_of(facts, "controller").fix.find("--tessera-namespace"), std::string::npos);
    EXPECT_NE(finding_of(facts, "agents").fix.find("--tessera-namespace"), std::string::npos);
}

}  // namespace
}  // namespace tessera::doctor
