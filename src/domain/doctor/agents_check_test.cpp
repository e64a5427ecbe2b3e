// The checks `agents` and `gpus`: configurations of single nodes, and startup taints.
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

}  // namespace
}  // namespace tessera::doctor
