#include "domain/doctor/mps_check.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

// A node whose agent is ready.
Node node(const std::string& name, bool offers_mps) {
    Node made{.inventory = build::node(name, 2, gibibytes(16)), .agent_ready = true};
    for (Gpu& gpu : made.inventory.gpus)
        gpu.offers_mps = offers_mps;
    return made;
}

Pod waiting(const std::string& name, const std::string& isolation) {
    Pod pod;
    pod.info.name = {"team", name};
    pod.info.gpu_rules.isolation = isolation;
    return pod;
}

Facts with_nodes(std::vector<Node> nodes) {
    Facts facts;
    facts.ns = "t";
    facts.nodes = std::move(nodes);
    facts.pods = std::vector<Pod>();
    facts.mps = Workload{.wanted = 2, .ready = 2};
    return facts;
}

// Goal: a node that should offer MPS and does not is named, with where the reason stands.
TEST(MpsCheck, NodesThatDoNotOfferIt) {
    EXPECT_EQ(mps(with_nodes({node("a", true), node("b", true)})).found, "on, for 2 nodes");
    const Judgement judged = mps(with_nodes({node("a", true), node("b", false)}));
    EXPECT_EQ(judged.status, Status::warning) << "b may have GPUs that cannot offer it";
    EXPECT_EQ(mps(with_nodes({node("b", false)})).status, Status::failed);
    EXPECT_EQ(judged.found, "it is on, and these nodes do not offer it: b");
    EXPECT_TRUE(judged.fix.starts_with("kubectl -n t logs ")) << judged.fix;
}

// Goal: nodes that cannot offer it are no fault, and neither are those that other checks report.
TEST(MpsCheck, NodesThatNeedNot) {
    Node arm = node("arm", false);
    arm.labels.emplace("kubernetes.io/arch", "arm64");
    Node away = node("away", false);
    away.agent_ready = false;
    Node sick = node("sick", false);
    for (Gpu& gpu : sick.inventory.gpus)
        gpu.condition = GpuCondition::unhealthy;
    Node intel = node("intel", true);
    intel.labels.emplace("kubernetes.io/arch", "amd64");
    EXPECT_EQ(mps(with_nodes({arm, away, sick, intel})).status, Status::ok);
    intel = node("intel", false);
    intel.labels.emplace("kubernetes.io/arch", "amd64");
    EXPECT_EQ(mps(with_nodes({intel})).status, Status::failed);
}

// Goal: the DaemonSet replaces no pods by itself, so old ones are named.
TEST(MpsCheck, AfterAnUpgrade) {
    Facts facts = with_nodes({node("a", true)});
    facts.mps->outdated = 1;
    EXPECT_EQ(mps(facts).status, Status::warning);
    EXPECT_EQ(mps(facts).found, "1 of the 2 pods of tessera-mps are of the version before");
}

// Goal: a pod that waits for what is switched off is named.
TEST(MpsCheck, WhileItIsOff) {
    Facts facts = with_nodes({node("a", false)});
    facts.mps = fail(Code::not_found, "daemonsets.apps not found");
    facts.pods = std::vector<Pod>{waiting("guarded", "guard"), waiting("none", "")};
    EXPECT_EQ(mps(facts).status, Status::ok);
    EXPECT_EQ(mps(facts).found, "off (mps.enabled of the Helm chart)");
    facts.pods->push_back(waiting("serve", "mps"));
    facts.pods->push_back(waiting("done", "mps"));
    facts.pods->back().info.finished = true;
    facts.pods->push_back(waiting("runs", "mps"));
    facts.pods->back().info.node = NodeName("a");
    const Judgement judged = mps(facts);
    EXPECT_EQ(judged.status, Status::warning);
    EXPECT_EQ(judged.found, "it is off, and pods that wait request it: team/serve");
    EXPECT_NE(judged.fix.find("tessera.dev/isolation"), std::string::npos);
}

// Goal: a missing permission is named.
TEST(MpsCheck, WithoutTheRight) {
    Facts facts = with_nodes({});
    facts.nodes = fail(Code::permission_denied, "list nodes");
    EXPECT_EQ(mps(facts).found, "needs the right to list nodes");
    facts.mps = fail(Code::permission_denied, "get daemonsets.apps in t");
    EXPECT_EQ(mps(facts).found, "needs the right to get daemonsets.apps in t");
    facts.mps = fail(Code::not_found, "");
    facts.pods = fail(Code::permission_denied, "list pods");
    EXPECT_EQ(mps(facts).status, Status::skipped);
}

}  // namespace
}  // namespace tessera::doctor
