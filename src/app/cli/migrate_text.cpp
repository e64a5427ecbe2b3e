#include "app/cli/migrate_text.hpp"

#include <fmt/format.h>

namespace tessera {
namespace {

using migration::Direction;

// The pod's GPUs and amounts: by gpushare's annotations, which Tessera writes too.
std::string pod_line(const migration::Pod& pod, MemoryUnit unit) {
    std::string gpus;
    if (pod.info.legacy) {
        for (const LegacyAllocation::Share& share : pod.info.legacy->shares)
            gpus += fmt::format(", GPU {}: {} {}", share.index, share.units, unit_name(unit));
    } else {
        gpus = pod.info.allocation ? ", not in gpushare's annotations" : ", no GPU yet";
    }
    return fmt::format("  pod {}{}{}\n", pod.info.name.str(), gpus,
                       pod.info.started ? "" : ", not started");
}

std::int64_t units_of(const migration::Pod& pod) {
    std::int64_t sum = 0;
    if (!pod.info.legacy) return sum;
    for (const LegacyAllocation::Share& share : pod.info.legacy->shares)
        sum += share.units;
    return sum;
}

std::string_view state_of(const migration::Node& node) {
    if (!node.is_migrated) return "served by gpushare";
    const bool is_done =
        std::holds_alternative<migration::Done>(migration::next_step(node, Direction::to_tessera));
    return is_done ? "migrated to Tessera" : "in migration";
}

std::string node_text(const migration::Node& node, Direction direction) {
    std::string pods;
    int count = 0;
    std::int64_t units = 0;
    for (const migration::Pod& pod : node.pods) {
        if (pod.role != migration::Role::workload || !asks_for_gpus(pod.info)) continue;
        ++count;
        units += units_of(pod);
        pods += pod_line(pod, node.inventory.unit);
    }
    std::string out = fmt::format("{}: {}, {} pod{} with {} {} of aliyun.com/gpu-mem\n{}",
                                  node.name().str(), state_of(node), count, count == 1 ? "" : "s",
                                  units, unit_name(node.inventory.unit), pods);
    int number = 0;
    for (const std::string& step : migration::steps_ahead(node, direction))
        out += fmt::format("  {}. {}\n", ++number, step);
    if (number == 0) out += "  nothing to do\n";
    return out;
}

}  // namespace

std::string migration_text(const MigrateRequest& request, const MigrationPlan& plan) {
    std::string out;
    for (const migration::Node& node : plan.nodes)
        out += node_text(node, request.direction) + "\n";
    if (plan.nodes.empty()) out += "no node to migrate\n";
    for (const migration::Hindrance& hindrance : plan.hindrances) {
        out += fmt::format("{}: {}; {}\n", hindrance.blocks ? "blocked" : "warning", hindrance.text,
                           hindrance.fix);
    }
    return out;
}

}  // namespace tessera
