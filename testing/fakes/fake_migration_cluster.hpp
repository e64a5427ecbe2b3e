// A cluster of nodes that gpushare serves. Its DaemonSets react when a Node is read: a pod ends one
// read after its label is gone, and is ready one read after its label is set. Each moment is
// checked: no node has both labels, or a pod of both plugins.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ports/kube/migration_cluster.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {

class FakeMigrationCluster final : public MigrationCluster {
  public:
    migration::Facts facts;
    int writes_left = -1;              // then every write fails; -1: none does
    int conflicts = 0;                 // number of writes that find a changed Node
    std::set<NodeName> without_agent;  // their agent never becomes ready
    std::set<NodeName> keeps_plugin;   // their old plugin never ends
    std::vector<std::string> written;  // "NODE: WHAT"

    FakeMigrationCluster() {
        facts.ns = "tessera-system";
        facts.agents = migration::DaemonSet{.name = "tessera-system/tessera-agent"};
        facts.old_plugins = {{.name = "kube-system/plugin", .needs_old_label = true}};
        facts.ready_controllers = 1;
        facts.has_webhook = facts.has_own_scheduler = true;
    }

    void add_node(const std::string& name) {
        migration::Node node{.inventory = build::legacy_node(name, 2, 15), .has_old_label = true};
        migration::Pod pod{
            .info = build::legacy_bound(build::pod("train-" + name, build::aliyun(3)), name, 0, 3)};
        pod.info.started = true;
        node.pods.push_back(std::move(pod));
        facts.nodes.push_back(std::move(node));
        react(facts.nodes.back());
    }
    migration::Node& node(const NodeName& name) {
        return *std::ranges::find(facts.nodes, name, &migration::Node::name);
    }

    Result<migration::Facts> read() override { return facts; }
    Result<migration::Node> read_node(const NodeName& name) override {
        migration::Node now = node(name);
        react(node(name));
        return now;
    }
    Result<> write(const migration::Node& read, const migration::NodeChange& change) override {
        if (writes_left == 0) return fail(Code::unavailable, "the API server is away");
        if (conflicts > 0) return --conflicts, fail(Code::conflict, "the Node has changed");
        writes_left -= writes_left > 0 ? 1 : 0;
        migration::Node& now = node(read.name());
        set(change.labels, migration::kOldLabel, now.has_old_label);
        set(change.labels, migration::kAgentLabel, now.has_agent_label);
        set(change.annotations, migration::kMigratedFrom, now.is_migrated);
        set(change.annotations, migration::kCordonedBy, now.cordoned_by_us);
        if (change.is_cordoned) now.is_cordoned = *change.is_cordoned;
        if (change.removes_report) now.published = {};
        now.is_agent_wanted = now.has_agent_label;
        written.push_back(now.name().str() + ": " + change.what);
        EXPECT_FALSE(now.has_old_label && now.has_agent_label) << written.back();
        return {};
    }

  private:
    static void set(const StringMap& texts, std::string_view key, bool& flag) {
        if (const auto at = texts.find(key); at != texts.end()) flag = !at->second.empty();
    }
    void react(migration::Node& node) {
        follow(node, migration::Role::old_plugin,
               node.has_old_label || keeps_plugin.contains(node.name()), true);
        follow(node, migration::Role::agent, node.has_agent_label,
               !without_agent.contains(node.name()));
        const bool has_agent = std::ranges::any_of(node.pods, [](const migration::Pod& pod) {
            return pod.role == migration::Role::agent && pod.is_ready;
        });
        if (has_agent) node.published.annotations = {"tessera.dev/gpus"};
        const auto plugins = std::ranges::count_if(node.pods, [](const migration::Pod& pod) {
            return pod.role == migration::Role::agent || pod.role == migration::Role::old_plugin;
        });
        EXPECT_LE(plugins, 1) << node.name().str();
        node.units = plugins == 0 ? 0 : 30;
    }
    static void follow(migration::Node& node, migration::Role role, bool is_wanted,
                       bool becomes_ready) {
        const auto at = std::ranges::find(node.pods, role, &migration::Pod::role);
        if (!is_wanted && at != node.pods.end()) node.pods.erase(at);
        if (!is_wanted || at != node.pods.end()) return;
        migration::Pod pod{
            .info = build::pod("plugin", {}), .role = role, .is_ready = becomes_ready};
        node.pods.push_back(std::move(pod));
    }
};

}  // namespace tessera
