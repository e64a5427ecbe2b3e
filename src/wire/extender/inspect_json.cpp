#include "wire/extender/inspect_json.hpp"

#include "wire/text/json.hpp"

namespace tessera {
namespace {

// Amounts are rounded up: a native share of 1.5 GiB takes two of a node's GiB.
std::int64_t units_up(Bytes bytes, std::int64_t unit) {
    return (bytes.count + unit - 1) / unit;
}

void write_gpu(JsonWriter& w, const NodeInfo& node, std::size_t position) {
    const Gpu& gpu = node.inventory.gpus[position];
    const std::int64_t unit = bytes_per_unit(node.inventory.unit).count;
    w.object([&] {
        w.member("id", gpu.index);
        w.member("totalGPU", gpu.capacity().count / unit);
        w.member("usedGPU", units_up(node.gpus[position].allocated, unit));
        w.array("pods", [&] {
            for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
                for (const GpuAllocation& on_gpu : assigned_pod->allocated) {
                    if (on_gpu.uuid != gpu.uuid) continue;
                    w.object([&] {
                        w.member("name", assigned_pod->name.name);
                        w.member("namespace", assigned_pod->name.ns);
                        w.member("usedGPU", units_up(on_gpu.memory, unit));
                    });
                }
            }
        });
    });
}

}  // namespace

std::string write_inspect(std::span<const NodeInfo* const> nodes) {
    JsonWriter w;
    w.object([&] {
        w.array("nodes", [&] {
            for (const NodeInfo* node : nodes) {
                const std::int64_t unit = bytes_per_unit(node->inventory.unit).count;
                std::int64_t total = 0;
                std::int64_t used = 0;
                for (const GpuState& gpu : node->gpus) {
                    total += gpu.capacity.count / unit;
                    used += units_up(gpu.allocated, unit);
                }
                // A legacy node reports its total itself; the sum of its equal GPUs would lose
                // more.
                const bool legacy = node->inventory.source == InventorySource::legacy;
                if (legacy) total = node->inventory.gpu_mem;
                w.object([&] {
                    w.member("name", node->inventory.name.str());
                    w.member("totalGPU", total);
                    w.member("usedGPU", used);
                    w.array("devs", [&] {
                        for (std::size_t i = 0; i < node->gpus.size(); ++i)
                            write_gpu(w, *node, i);
                    });
                });
            }
        });
    });
    return w.take();
}

}  // namespace tessera
