#include "domain/migration/next_step.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::migration {
namespace {

Pod ready(Role role, const std::string& name) {
    Pod pod{.info = build::pod(name, {}), .role = role, .is_ready = true};
    pod.info.name = {"kube-system", name};
    return pod;
}

Pod workload(bool is_started) {
    Pod pod{.info = build::legacy_bound(build::pod("train", build::aliyun(3)), "n", 0, 3)};
    pod.info.started = is_started;
    return pod;
}

Node of_gpushare() {
    Node node{.inventory = build::legacy_node("n", 2, 15)};
    node.has_old_label = true;
    node.units = 30;
    node.pods = {ready(Role::old_plugin, "plugin"), workload(true)};
    return node;
}

Node of_tessera() {
    Node node{.inventory = build::node("n", 2, gibibytes(15))};
    node.has_agent_label = node.is_migrated = node.is_agent_wanted = true;
    node.published.annotations = {"tessera.dev/gpus"};
    node.units = 30;
    node.pods = {ready(Role::agent, "agent"), workload(true)};
    return node;
}

std::string words_of(const Step& step) {
    if (const auto* change = std::get_if<NodeChange>(&step)) return change->what;
    if (const auto* wait = std::get_if<Wait>(&step)) return "until " + wait->until;
    return "done";
}

// Goal: the plan shows the complete order, in both directions.
TEST(NextStep, Order) {
    EXPECT_EQ(steps_ahead(of_gpushare(), Direction::to_tessera),
              (std::vector<std::string>{"cordon, and annotate tessera.dev/migrated-from=gpushare",
                                        "remove the label gpushare=true",
                                        "wait until pod kube-system/plugin has ended",
                                        "set the label tessera.dev/agent=true",
                                        "wait until Tessera's agent is ready", "uncordon"}));
    EXPECT_EQ(steps_ahead(of_tessera(), Direction::to_gpushare),
              (std::vector<std::string>{
                  "cordon", "remove the label tessera.dev/agent",
                  "wait until pod kube-system/agent has ended", "remove what the agent published",
                  "set the label gpushare=true", "wait until gpushare's device plugin is ready",
                  "uncordon, and remove the annotation"}));
    EXPECT_TRUE(steps_ahead(of_tessera(), Direction::to_tessera).empty());
    EXPECT_TRUE(steps_ahead(of_gpushare(), Direction::to_gpushare).empty());
}

struct Case {
    const char* next;
    Direction direction;
    void (*edit)(Node&);
};

// Goal: a migration that was interrupted continues with what is missing.
TEST(NextStep, ContinuesFromWhatTheNodeShows) {
    const std::vector<Case> of_a_gpushare_node = {
        {"cordon, and annotate tessera.dev/migrated-from=gpushare", Direction::to_tessera,
         [](Node& n) { n.is_migrated = true; }},
        {"until pod default/train has started", Direction::to_tessera,
         [](Node& n) {
             n.is_migrated = n.is_cordoned = true;
             n.pods.back().info.started = false;
         }},
        {"until pod kube-system/plugin has ended", Direction::to_tessera,
         [](Node& n) {
             n.is_migrated = n.is_cordoned = true;
             n.has_old_label = false;
         }},
        {"until gpushare's device plugin is ready", Direction::to_gpushare,
         [](Node& n) {
             n.is_migrated = true;
             n.pods.front().is_ready = false;
         }},
        {"until kubelet shows aliyun.com/gpu-mem", Direction::to_gpushare,
         [](Node& n) {
             n.is_migrated = true;
             n.units = 0;
         }},
        {"remove the annotation", Direction::to_gpushare, [](Node& n) { n.is_migrated = true; }},
    };
    for (const Case& c : of_a_gpushare_node) {
        Node node = of_gpushare();
        c.edit(node);
        EXPECT_EQ(words_of(next_step(node, c.direction)), c.next);
    }
    const std::vector<Case> of_a_tessera_node = {
        {"until DaemonSet tessera-agent selects the node", Direction::to_tessera,
         [](Node& n) { n.is_agent_wanted = false; }},
        {"until Tessera's agent is ready", Direction::to_tessera,
         [](Node& n) { n.pods.front().is_ready = false; }},
        {"until the agent has published its GPUs", Direction::to_tessera,
         [](Node& n) { n.published = {}; }},
        {"until kubelet shows aliyun.com/gpu-mem", Direction::to_tessera,
         [](Node& n) { n.units = 0; }},
        {"uncordon", Direction::to_tessera,
         [](Node& n) { n.is_cordoned = n.cordoned_by_us = true; }},
        {"done", Direction::to_tessera, [](Node& n) { n.is_cordoned = true; }},
        {"until pod default/train has started", Direction::to_gpushare,
         [](Node& n) {
             n.is_cordoned = true;
             n.pods.back().info.started = false;
         }},
        {"until pod default/train has ended, which gpushare would not count",
         Direction::to_gpushare,
         [](Node& n) {
             n.is_cordoned = true;
             PodInfo& pod = n.pods.back().info;
             pod.legacy.reset();
             pod.allocation = build::allocation(pod, "n", {});
         }},
        {"until pod kube-system/agent has ended", Direction::to_gpushare,
         [](Node& n) { n.has_agent_label = false; }},
    };
    for (const Case& c : of_a_tessera_node) {
        Node node = of_tessera();
        c.edit(node);
        EXPECT_EQ(words_of(next_step(node, c.direction)), c.next);
    }
}

// Goal: a Node that an administrator cordoned stays cordoned.
TEST(NextStep, LeavesTheCordonOfOthers) {
    Node node = of_gpushare();
    node.is_cordoned = true;
    const Step begin = next_step(node, Direction::to_tessera);
    EXPECT_EQ(std::get<NodeChange>(begin).annotations,
              (StringMap{{"tessera.dev/migrated-from", "gpushare"}}));
    EXPECT_EQ(std::get<NodeChange>(begin).is_cordoned, std::nullopt);
    node.is_migrated = true;
    const Step end = next_step(node, Direction::to_gpushare);
    EXPECT_EQ(std::get<NodeChange>(end).is_cordoned, std::nullopt);
}

// All states of a node that its labels, annotations and plugins can have.
std::vector<Node> all_states() {
    constexpr int kFlags = 9;
    std::vector<Node> out;
    for (int bits = 0; bits < 1 << kFlags; ++bits) {
        Node node = of_gpushare();
        const auto flag = [&](int position) { return (bits >> position & 1) != 0; };
        node.has_old_label = flag(0);
        node.has_agent_label = flag(1);
        node.is_migrated = flag(2);
        node.is_cordoned = flag(3);
        node.cordoned_by_us = flag(4);
        node.is_agent_wanted = flag(5);
        if (flag(6)) node.published.annotations = {"tessera.dev/gpus"};
        if (!flag(7)) node.pods.erase(node.pods.begin());
        if (flag(8)) node.pods.push_back(ready(Role::agent, "agent"));
        out.push_back(std::move(node));
    }
    return out;
}

// Goal: in no state does a step give a node both labels, start a plugin beside the other, or take a
// plugin from a node that takes new pods.
TEST(NextStep, NeverBothPlugins) {
    for (const Direction direction : {Direction::to_tessera, Direction::to_gpushare}) {
        for (const Node& node : all_states()) {
            const Step step = next_step(node, direction);
            const auto* change = std::get_if<NodeChange>(&step);
            if (change == nullptr) continue;
            for (const auto& [label, value] : change->labels) {
                const bool is_old = label == kOldLabel;
                if (value.empty()) {
                    EXPECT_TRUE(node.is_cordoned) << change->what;
                    continue;
                }
                EXPECT_FALSE(is_old ? node.has_agent_label : node.has_old_label) << change->what;
                for (const Pod& pod : node.pods)
                    EXPECT_NE(pod.role, is_old ? Role::agent : Role::old_plugin) << change->what;
            }
        }
    }
}

}  // namespace
}  // namespace tessera::migration
