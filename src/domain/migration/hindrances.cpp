#include "domain/migration/hindrances.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::migration {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";

class List {
  public:
    void block(std::string text, std::string fix) {
        found_.push_back({.text = std::move(text), .fix = std::move(fix)});
    }
    void warn(std::string text, std::string fix) {
        found_.push_back({.blocks = false, .text = std::move(text), .fix = std::move(fix)});
    }
    std::vector<Hindrance> take() { return std::move(found_); }

  private:
    std::vector<Hindrance> found_;
};

void check_tessera(const Facts& facts, List& list) {
    if (!facts.agents) {
        list.block(fmt::format("Tessera is not installed in namespace {}", facts.ns),
                   "install its chart, or name its namespace with -n");
        return;
    }
    if (facts.ready_controllers == 0)
        list.block("no controller of Tessera is ready", "run tessera doctor");
    if (!facts.has_own_scheduler) {
        list.warn("Tessera is in extender mode, and kube-scheduler's configuration is not visible",
                  "make sure that it has Tessera's extender, and not gpushare's");
    } else if (!facts.has_webhook) {
        list.block("Tessera's webhook is off or not ready, so new pods go to default-scheduler",
                   "set the chart's webhook.enabled=true");
    }
}

// Two programs that place pods at the same time can give the same memory to two pods.
void check_extender(const Facts& facts, List& list) {
    for (const Node& node : facts.nodes) {
        for (const Pod& pod : node.pods) {
            if (pod.role != Role::old_extender) continue;
            list.block(fmt::format("gpushare's extender runs on {} (pod {})", node.name().str(),
                                   pod.info.name.str()),
                       fmt::format("stop it: kubectl -n {} scale deployment gpushare-schd-extender "
                                   "--replicas=0",
                                   pod.info.name.ns));
        }
    }
}

void check_plugins(const Facts& facts, Direction direction, List& list) {
    if (facts.old_plugins.empty()) {
        const std::string text = "no DaemonSet of gpushare's device plugin was found";
        if (direction == Direction::to_gpushare) {
            list.block(text, "create gpushare-device-plugin-ds again");
        } else {
            list.warn(text, "if another program serves aliyun.com/gpu-mem, remove it first");
        }
    }
    for (const DaemonSet& plugin : facts.old_plugins) {
        if (!plugin.needs_old_label) {
            list.block(fmt::format("DaemonSet {} has no node selector gpushare=true, so its pods "
                                   "stay on migrated nodes",
                                   plugin.name),
                       "add this node selector to its template");
        }
        if (facts.agents && facts.agents->unit != plugin.unit) {
            const auto unit = unit_name(plugin.unit);
            list.block(fmt::format("DaemonSet {} counts in {}, and Tessera's agents in {}",
                                   plugin.name, unit, unit_name(facts.agents->unit)),
                       fmt::format("set the chart's agent.memoryUnit={}", unit));
        }
    }
}

// gpushare's scheduler is gone, and the webhook changes only pods that are created.
void check_waiting(const Facts& facts, List& list) {
    if (!facts.has_own_scheduler) return;
    for (const Pod& pod : facts.waiting) {
        if (pod.scheduler != kDefaultScheduler) continue;
        list.warn(fmt::format("pod {} waits for {}, which cannot place it", pod.info.name.str(),
                              pod.scheduler),
                  "delete it and create it again; Tessera's scheduler then places it");
    }
}

void check_tessera_pods(const Node& node, List& list) {
    int placed = 0;
    for (const Pod& pod : node.pods) {
        if (!is_placed_by_tessera(pod)) continue;
        ++placed;
        if (is_counted_by_gpushare(pod.info)) continue;
        list.block(fmt::format("{}: pod {} was placed by Tessera, and gpushare would not count it",
                               node.name().str(), pod.info.name.str()),
                   "delete it");
    }
    if (placed == 0) return;
    list.warn(fmt::format("{}: {} pod{} placed by Tessera may restart without a GPU",
                          node.name().str(), placed, placed == 1 ? "" : "s"),
              "create them again after the rollback");
}

}  // namespace

std::vector<Hindrance> hindrances(const Facts& facts, Direction direction) {
    List list;
    if (direction == Direction::to_tessera) check_tessera(facts, list);
    check_extender(facts, list);
    check_plugins(facts, direction, list);
    check_waiting(facts, list);
    return list.take();
}

std::vector<Hindrance> hindrances(const Node& node, Direction direction) {
    List list;
    const std::string& name = node.name().str();
    if (node.has_old_label && node.has_agent_label) {
        list.block(fmt::format("{} has the labels gpushare=true and tessera.dev/agent=true", name),
                   fmt::format("remove one: kubectl label node {} tessera.dev/agent-", name));
    } else if (node.has_old_label && node.is_agent_wanted) {
        list.block(fmt::format("{}: Tessera's DaemonSet selects it beside gpushare's", name),
                   "set the chart's agent.acceptGpushareLabel=false, and agent.nodeLabels to "
                   "tessera.dev/agent=true");
    }
    for (const Pod& pod : node.pods) {
        if (pod.role != Role::other_gpu_program) continue;
        list.warn(fmt::format("{}: {} (pod {}) assigns the same GPUs", name, pod.what,
                              pod.info.name.str()),
                  "remove it from the node (docs/install/beside-others.md)");
    }
    if (const Pod* pod = unstarted(node)) {
        list.warn(fmt::format("{}: pod {} has not started", name, pod->info.name.str()),
                  "the node waits for it; delete it if it cannot start");
    }
    if (direction == Direction::to_gpushare) check_tessera_pods(node, list);
    return list.take();
}

}  // namespace tessera::migration
