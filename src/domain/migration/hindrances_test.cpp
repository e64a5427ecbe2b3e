#include "domain/migration/hindrances.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::migration {
namespace {

constexpr Direction kForth = Direction::to_tessera;
constexpr Direction kBack = Direction::to_gpushare;

Facts facts() {
    Facts out;
    out.ns = "tessera-system";
    out.agents = DaemonSet{.name = "tessera-system/tessera-agent"};
    out.old_plugins = {{.name = "kube-system/gpushare-device-plugin-ds", .needs_old_label = true}};
    out.ready_controllers = 2;
    out.has_webhook = out.has_own_scheduler = true;
    out.nodes = {Node{.inventory = build::legacy_node("n", 2, 15), .has_old_label = true}};
    return out;
}

Pod pod(Role role, const std::string& ns, const std::string& name) {
    Pod out{.info = build::pod(name, build::aliyun(3)), .role = role};
    out.info.name = {ns, name};
    out.info.started = true;
    return out;
}

// "blocked: text" or "warning: text"; empty for none.
std::string first(const std::vector<Hindrance>& found) {
    if (found.empty()) return "";
    EXPECT_FALSE(found.front().fix.empty());
    return (found.front().blocks ? "blocked: " : "warning: ") + found.front().text;
}

struct ClusterCase {
    const char* text;
    Direction direction;
    void (*edit)(Facts&);
};

TEST(Hindrances, OfTheCluster) {
    const std::vector<ClusterCase> cases = {
        {"", kForth, [](Facts&) {}},
        {"", kBack, [](Facts&) {}},
        {"blocked: Tessera is not installed in namespace tessera-system", kForth,
         [](Facts& f) { f.agents.reset(); }},
        {"blocked: no controller of Tessera is ready", kForth,
         [](Facts& f) { f.ready_controllers = 0; }},
        {"blocked: Tessera's webhook is off or not ready, so new pods go to default-scheduler",
         kForth, [](Facts& f) { f.has_webhook = false; }},
        {"warning: Tessera is in extender mode, and kube-scheduler's configuration is not visible",
         kForth, [](Facts& f) { f.has_own_scheduler = false; }},
        {"blocked: gpushare's extender runs on n (pod kube-system/extender)", kForth,
         [](Facts& f) {
             f.nodes.front().pods = {pod(Role::old_extender, "kube-system", "extender")};
         }},
        {"warning: no DaemonSet of gpushare's device plugin was found", kForth,
         [](Facts& f) { f.old_plugins.clear(); }},
        {"blocked: no DaemonSet of gpushare's device plugin was found", kBack,
         [](Facts& f) { f.old_plugins.clear(); }},
        {"blocked: DaemonSet kube-system/gpushare-device-plugin-ds has no node selector "
         "gpushare=true, so its pods stay on migrated nodes",
         kForth, [](Facts& f) { f.old_plugins.front().needs_old_label = false; }},
        {"blocked: DaemonSet kube-system/gpushare-device-plugin-ds counts in MiB, and Tessera's "
         "agents in GiB",
         kForth, [](Facts& f) { f.old_plugins.front().unit = MemoryUnit::mib; }},
        {"warning: pod default/w waits for default-scheduler, which cannot place it", kForth,
         [](Facts& f) {
             f.waiting = {pod(Role::workload, "default", "w")};
             f.waiting.front().scheduler = "default-scheduler";
         }},
        {"", kForth,
         [](Facts& f) {
             f.waiting = {pod(Role::workload, "default", "w")};
             f.waiting.front().scheduler = "tessera-scheduler";
         }},
    };
    for (const ClusterCase& c : cases) {
        Facts given = facts();
        c.edit(given);
        EXPECT_EQ(first(hindrances(given, c.direction)), c.text);
    }
}

struct NodeCase {
    const char* text;
    Direction direction;
    void (*edit)(Node&);
};

TEST(Hindrances, OfANode) {
    const std::vector<NodeCase> cases = {
        {"", kForth, [](Node&) {}},
        {"blocked: n has the labels gpushare=true and tessera.dev/agent=true", kForth,
         [](Node& n) { n.has_agent_label = n.is_agent_wanted = true; }},
        {"blocked: n: Tessera's DaemonSet selects it beside gpushare's", kForth,
         [](Node& n) { n.is_agent_wanted = true; }},
        {"warning: n: NVIDIA's device plugin (pod kube-system/p) assigns the same GPUs", kForth,
         [](Node& n) {
             n.pods = {pod(Role::other_gpu_program, "kube-system", "p")};
             n.pods.front().what = "NVIDIA's device plugin";
         }},
        {"warning: n: pod default/p has not started", kForth,
         [](Node& n) {
             n.pods = {pod(Role::workload, "default", "p")};
             n.pods.front().info.started = false;
         }},
    };
    for (const NodeCase& c : cases) {
        Node given = facts().nodes.front();
        c.edit(given);
        EXPECT_EQ(first(hindrances(given, c.direction)), c.text);
    }
}

PodInfo placed(PodInfo pod, int gpus) {
    std::vector<GpuShare> shares;
    shares.reserve(static_cast<std::size_t>(gpus));
    for (int i = 0; i < gpus; ++i)
        shares.push_back({.uuid = GpuUuid("GPU-n-" + std::to_string(i)), .index = i});
    const Allocation allocation = build::allocation(pod, "n", shares);
    pod = build::bound(std::move(pod), allocation);
    pod.started = true;
    return pod;
}

// Goal: a rollback leaves no pod that gpushare does not count: its memory would be given twice.
TEST(Hindrances, OfARollback) {
    PodInfo counted = placed(build::pod("p", build::aliyun(3)), 1);
    counted.legacy = LegacyAllocation{.dialect = &kGpushareDialect, .shares = {{0, 3}}};
    PodInfo on_two = placed(build::pod("p", build::aliyun(4)), 2);
    on_two.legacy = LegacyAllocation{.dialect = &kGpushareDialect, .shares = {{0, 2}, {1, 2}}};
    const PodInfo native = placed(build::pod("p", build::native(gibibytes(3))), 1);
    PodInfo forged = native;  // its user wrote gpushare's annotations
    forged.legacy = counted.legacy;
    const std::string blocked =
        "blocked: n: pod default/p was placed by Tessera, and gpushare would not count it";
    Node node = facts().nodes.front();
    for (const auto& [info, text] :
         {std::pair{counted, "warning: n: 1 pod placed by Tessera may restart without a GPU"},
          {on_two, blocked.c_str()},
          {native, blocked.c_str()},
          {forged, blocked.c_str()}}) {
        node.pods = {Pod{.info = info}};
        EXPECT_EQ(first(hindrances(node, kBack)), text);
    }
    node.pods = {Pod{.info = build::legacy_bound(build::pod("p", build::aliyun(3)), "n", 0, 3)}};
    node.pods.front().info.started = true;
    EXPECT_EQ(first(hindrances(node, kBack)), "") << "gpushare placed it";
}

}  // namespace
}  // namespace tessera::migration
