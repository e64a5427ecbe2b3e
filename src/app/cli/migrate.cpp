#include "app/cli/migrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>

namespace tessera {
namespace {

using migration::Direction;
using migration::Wait;

constexpr std::chrono::seconds kPoll{1};

bool concerns(const migration::Node& node, Direction direction) {
    return node.is_migrated || (direction == Direction::to_tessera && node.has_old_label);
}

Result<std::vector<migration::Node>> nodes_of(const migration::Facts& facts,
                                              const MigrateRequest& request) {
    std::vector<migration::Node> out;
    for (const std::string& name : request.nodes) {
        const auto at = std::ranges::find(facts.nodes, NodeName(name), &migration::Node::name);
        if (at == facts.nodes.end()) return fail(Code::not_found, "--node: no node " + name);
        if (!concerns(*at, request.direction)) {
            return fail(Code::invalid_argument,
                        fmt::format("--node: {} has {}", name,
                                    request.direction == Direction::to_tessera
                                        ? "no label gpushare=true, and was not migrated"
                                        : "no annotation tessera.dev/migrated-from"));
        }
        out.push_back(*at);
    }
    if (!request.nodes.empty()) return out;
    std::ranges::copy_if(facts.nodes, std::back_inserter(out), [&](const migration::Node& node) {
        return concerns(node, request.direction);
    });
    if (request.direction == Direction::to_gpushare) std::ranges::reverse(out);
    return out;
}

// Moves one node. Nothing if it is done; the wait that took too long.
class NodeMigration {
  public:
    NodeMigration(MigrationCluster& cluster, Clock& clock, const MigrateRequest& request,
                  const std::function<void(const std::string&)>& print, NodeName name)
        : cluster_(cluster),
          clock_(clock),
          request_(request),
          print_(print),
          name_(std::move(name)) {}

    Result<std::optional<Wait>> run(Direction direction) {
        wait_.reset();
        while (true) {
            TRY(const migration::Node node, cluster_.read_node(name_));
            const migration::Step step = migration::next_step(node, direction);
            if (std::holds_alternative<migration::Done>(step)) return std::optional<Wait>();
            TRY(const Wait wait, carry_out(node, step));
            if (wait.until.empty()) continue;
            if (has_taken_too_long(wait)) return std::optional(wait);
            clock_.sleep_for(kPoll);
        }
    }

    void say(const std::string& text) { print_(name_.str() + ": " + text); }

  private:
    // Returns what to wait for before the node is read again; empty for nothing.
    Result<Wait> carry_out(const migration::Node& node, const migration::Step& step) {
        if (const auto* wait = std::get_if<Wait>(&step)) return *wait;
        const auto& change = std::get<migration::NodeChange>(step);
        const auto done = cluster_.write(node, change);
        if (!done && done.error().code != Code::conflict)
            return fail(done.error().in("node " + name_.str()));
        if (!done) return Wait{"the Node object stays unchanged for a moment", "try again"};
        say(change.what);
        wait_.reset();
        return Wait{};
    }

    bool has_taken_too_long(const Wait& wait) {
        if (wait_ != wait) {
            wait_ = wait;
            deadline_ = clock_.steady() + request_.timeout;
            say("waiting until " + wait.until);
        }
        return clock_.steady() >= deadline_;
    }

    MigrationCluster& cluster_;
    Clock& clock_;
    const MigrateRequest& request_;
    const std::function<void(const std::string&)>& print_;
    const NodeName name_;
    std::optional<Wait> wait_;
    std::chrono::nanoseconds deadline_{};
};

std::string text_of(const Wait& wait, std::chrono::seconds timeout) {
    return fmt::format("it took more than {} s until {}; {}", timeout.count(), wait.until,
                       wait.fix);
}

Result<> migrate_node(NodeMigration& node, const MigrateRequest& request) {
    TRY(const auto late, node.run(request.direction));
    const bool to_tessera = request.direction == Direction::to_tessera;
    if (!late) {
        node.say(to_tessera ? "migrated" : "back to gpushare");
        return {};
    }
    const std::string reason = text_of(*late, request.timeout);
    if (!to_tessera) return fail(Code::conflict, reason + "; then run the command again");
    node.say("putting it back to gpushare: " + reason);
    TRY(const auto too_late, node.run(Direction::to_gpushare));
    if (!too_late) return fail(Code::conflict, "put back to gpushare, because " + reason);
    return fail(Code::conflict,
                fmt::format("{}. It was not put back to gpushare either, because {}; then run the "
                            "command again",
                            reason, text_of(*too_late, request.timeout)));
}

Result<> check(const MigrationPlan& plan) {
    const auto at = std::ranges::find(plan.hindrances, true, &migration::Hindrance::blocks);
    if (at == plan.hindrances.end()) return {};
    return fail(Code::conflict, fmt::format("{}; {}", at->text, at->fix));
}

}  // namespace

bool MigrationPlan::is_blocked() const {
    return std::ranges::any_of(hindrances, &migration::Hindrance::blocks);
}

Result<MigrationPlan> plan_migration(MigrationCluster& cluster, const MigrateRequest& request) {
    MigrationPlan plan;
    TRY(plan.facts, cluster.read());
    TRY(plan.nodes, nodes_of(plan.facts, request));
    plan.hindrances = migration::hindrances(plan.facts, request.direction);
    for (const migration::Node& node : plan.nodes) {
        if (std::holds_alternative<migration::Done>(next_step(node, request.direction))) continue;
        std::ranges::copy(migration::hindrances(node, request.direction),
                          std::back_inserter(plan.hindrances));
    }
    return plan;
}

Result<> apply_migration(MigrationCluster& cluster, Clock& clock, const MigrateRequest& request,
                         const std::function<void(const std::string&)>& print) {
    TRY(const MigrationPlan plan, plan_migration(cluster, request));
    TRY_VOID(check(plan));
    for (const NodeName& name : plan.nodes | std::views::transform(&migration::Node::name)) {
        // The cluster may have changed while the node before it waited.
        TRY(const MigrationPlan now,
            plan_migration(cluster, {.direction = request.direction, .nodes = {name.str()}}));
        TRY_VOID(check(now));
        NodeMigration node(cluster, clock, request, print, name);
        const auto done = migrate_node(node, request);
        if (!done) return fail(done.error().in("node " + name.str()));
    }
    if (plan.nodes.empty()) print("no node to migrate");
    return {};
}

}  // namespace tessera
