// The nodes of a cluster as JSON.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "app/top/gpu_uses.hpp"
#include "app/top/node_text.hpp"
#include "app/workload/view_text.hpp"

namespace tessera {
namespace {

// In Arena's order. Tessera has no nodes of the kind topology: each node with shares knows how its
// GPUs are linked.
struct ModeArray {
    std::string_view name;
    NodeMode mode;
};
constexpr auto kArrays = std::to_array<ModeArray>({
    {"gpuShareNodes", NodeMode::share},
    {"gpuExclusiveNodes", NodeMode::exclusive},
    {"normalNodes", NodeMode::none},
});

void write_share_pod(JsonWriter& w, const NodeRow& row, std::size_t at) {
    const PodUsage& pod = row.usage.pods[at];
    const auto& gpus = row.usage.inventory.gpus;
    const PodSums sums = sums_of(pod);
    w.object([&] {
        w.member("name", pod.name.name);
        w.member("namespace", pod.name.ns);
        w.member("status", row.statuses[at]);
        w.member("requestGPUMemory", sums.memory.count);
        w.member("requestGPUCore", sums.cores);
        w.object("gpuMemoryAllocation", [&] {
            for (std::size_t i = 0; i < gpus.size(); ++i) {
                if (pod.on_gpu[i].count > 0)
                    w.member(fmt::format("{}", gpus[i].index), pod.on_gpu[i].count);
            }
        });
        w.object("gpuCoreAllocation", [&] {
            for (std::size_t i = 0; i < gpus.size(); ++i) {
                if (pod.cores_on_gpu[i].value > 0)
                    w.member(fmt::format("{}", gpus[i].index), pod.cores_on_gpu[i].value);
            }
        });
    });
}

void write_pods(JsonWriter& w, const NodeRow& row) {
    w.array("instances", [&] {
        for (std::size_t i = 0; i < row.usage.pods.size(); ++i)
            write_share_pod(w, row, i);
        for (const PluginPod& pod : row.plugin_pods) {
            w.object([&] {
                w.member("name", pod.name.name);
                w.member("namespace", pod.name.ns);
                w.member("status", pod.status);
                w.member("requestGPUs", pod.gpus);
            });
        }
    });
}

void write_devices(JsonWriter& w, const NodeRow& row) {
    const auto& gpus = row.usage.inventory.gpus;
    w.array("devices", [&] {
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            w.object([&] {
                w.member("id", fmt::format("{}", gpus[i].index));
                w.member("uuid", gpus[i].uuid.str());
                w.member("model", gpus[i].model);
                w.member("healthy", gpus[i].condition != GpuCondition::unhealthy);
                w.member("totalGPUMemory", gpus[i].capacity().count);
                w.member("allocatedGPUMemory", row.usage.allocated(i).count);
                w.member("totalGPUCore", 100);
                w.member("allocatedGPUCore", row.allocated_cores(i));
            });
        }
    });
}

void write_metrics(JsonWriter& w, const NodeRow& row, const NodeTextOptions& view) {
    w.array("gpuMetrics", [&] {
        if (!view.has_uses) return;
        const auto& gpus = row.usage.inventory.gpus;
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            const GpuUses used = uses_of(gpus[i].uuid, view.uses);
            w.object([&] {
                w.member("id", fmt::format("{}", gpus[i].index));
                w.member("uuid", gpus[i].uuid.str());
                if (used.time) w.member("gpuDutyCycle", *used.time);
                if (used.is_known) w.member("usedGPUMemory", used.memory.count);
                w.member("totalGPUMemory", gpus[i].capacity().count);
                w.array("podNames", [&] {
                    for (const PodUsage& pod : row.usage.pods) {
                        if (pod.on_gpu[i].count > 0) w.item(pod.name.name);
                    }
                });
            });
        }
    });
}

void write_row(JsonWriter& w, const NodeRow& row, const NodeTextOptions& view) {
    w.object([&] {
        w.member("name", row.name());
        w.member("ip", row.usage.inventory.address);
        w.member("status", row.facts.status);
        w.member("role", row.facts.role);
        w.member("type", type_of(row.mode));
        if (row.mode == NodeMode::none) return;
        w.member("totalGPUs", row.gpus());
        w.raw_member("allocatedGPUs", tenths(row.allocated()));
        w.member("unhealthyGPUs", row.unhealthy());
        if (row.mode == NodeMode::share) {
            w.member("totalGPUMemory", row.memory().count);
            w.member("allocatedGPUMemory", row.allocated_memory().count);
            w.member("totalGPUCore", row.gpus() * 100);
            w.member("allocatedGPUCore", row.all_allocated_cores());
            write_devices(w, row);
            write_metrics(w, row, view);
        }
        write_pods(w, row);
    });
}

}  // namespace

std::string node_json(std::span<const NodeRow> rows, const NodeTextOptions& view) {
    JsonWriter w;
    w.object([&] {
        for (const ModeArray& each : kArrays) {
            w.array(each.name, [&] {
                for (const NodeRow& row : rows) {
                    if (row.mode == each.mode) write_row(w, row, view);
                }
            });
        }
        w.array("gpuTopologyNodes", [] {});
    });
    return w.take();
}

}  // namespace tessera
