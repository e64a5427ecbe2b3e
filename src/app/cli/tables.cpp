#include "app/cli/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"

namespace tessera {
namespace {

struct GpuLine {
    const NodeUsage* node;
    std::size_t index;

    [[nodiscard]] const Gpu& gpu() const { return node->inventory.gpus[index]; }
    [[nodiscard]] Bytes allocated() const { return node->allocated(index); }
    // In hundredths of a percent, so that sorting needs no floating point.
    [[nodiscard]] std::int64_t fullness() const {
        const std::int64_t capacity = std::max<std::int64_t>(gpu().capacity().count / kMiB, 1);
        return allocated().count / kMiB * 10'000 / capacity;
    }
    [[nodiscard]] std::int64_t pods() const {
        return std::ranges::count_if(node->pods,
                                     [&](const PodUsage& p) { return p.on_gpu[index].count > 0; });
    }
};

std::vector<GpuLine> lines_of(std::span<const NodeUsage> nodes) {
    std::vector<GpuLine> lines;
    for (const NodeUsage& node : nodes) {
        for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i)
            lines.push_back({&node, i});
    }
    return lines;
}

std::string health_of(const GpuLine& line) {
    const Gpu& gpu = line.gpu();
    const std::string words(words_of(gpu.condition));
    std::string health = gpu.usable() ? words : words + ": " + gpu.reason;
    if (line.node->agent_ready) return health;
    return fmt::format("unknown: no agent is ready (last report: {})", health);
}

std::string table(std::span<const GpuLine> lines, bool with_uuid) {
    std::string out = "NODE\tGPU\tMODEL\tALLOCATED\tCAPACITY\tALLOC%\tCORES%\tPODS\tHEALTH";
    out += with_uuid ? "\tUUID\n" : "\n";
    for (const GpuLine& line : lines) {
        const Gpu& gpu = line.gpu();
        out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", line.node->inventory.name.str(),
                           gpu.index, gpu.model.empty() ? "unknown" : gpu.model,
                           rounded_up(line.allocated()), rounded_down(gpu.capacity()),
                           line.fullness() / 100, line.node->allocated_cores(line.index).value,
                           line.pods(), health_of(line));
        out += with_uuid ? "\t" + gpu.uuid.str() + "\n" : "\n";
    }
    return align_tabs(out);
}

void write_gpu(JsonWriter& w, const GpuLine& line) {
    const Gpu& gpu = line.gpu();
    w.object([&] {
        w.member("index", gpu.index);
        w.member("uuid", gpu.uuid.str());
        w.member("model", gpu.model);
        w.member("capacityBytes", gpu.capacity().count);
        w.member("allocatedBytes", line.allocated().count);
        w.member("allocatedCoresPercent", line.node->allocated_cores(line.index).value);
        w.member("healthy", gpu.condition != GpuCondition::unhealthy);
        w.member("shareable", gpu.usable());
        if (!gpu.usable()) w.member("reason", gpu.reason);
        w.array("pods", [&] {
            for (const PodUsage& pod : line.node->pods) {
                if (pod.on_gpu[line.index].count == 0) continue;
                w.object([&] {
                    w.member("namespace", pod.name.ns);
                    w.member("name", pod.name.name);
                    w.member("allocatedBytes", pod.on_gpu[line.index].count);
                    w.member("coresPercent", pod.cores_on_gpu[line.index].value);
                });
            }
        });
    });
}

void write_node(JsonWriter& w, const NodeUsage& node) {
    w.object([&] {
        w.member("name", node.inventory.name.str());
        w.member("address", node.inventory.address);
        w.member("unit", unit_name(node.inventory.unit));
        if (node.inventory.source == InventorySource::agent)
            w.member("agentReady", node.agent_ready);
        w.array("gpus", [&] {
            for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i)
                write_gpu(w, {&node, i});
        });
        w.array("withoutGpu", [&] {
            for (const PodUsage& pod : node.pods) {
                if (pod.pending.count == 0) continue;
                w.object([&] {
                    w.member("namespace", pod.name.ns);
                    w.member("name", pod.name.name);
                    w.member("askedBytes", pod.pending.count);
                });
            }
        });
    });
}

}  // namespace

std::string wide_table(std::span<const NodeUsage> nodes) {
    return table(lines_of(nodes), true);
}

std::string top_table(std::span<const NodeUsage> nodes) {
    auto lines = lines_of(nodes);
    std::ranges::stable_sort(lines, std::greater{}, &GpuLine::fullness);
    return table(lines, false);
}

std::string unusable_gpus_text(std::span<const NodeUsage> nodes) {
    std::string out = "NODE\tGPU\tALLOCATED\tCAPACITY\tHEALTH\n";
    bool has_any = false;
    for (const GpuLine& line : lines_of(nodes)) {
        const Gpu& gpu = line.gpu();
        if (gpu.usable()) continue;
        has_any = true;
        out += fmt::format("{}\t{}\t{}\t{}\t{}\n", line.node->inventory.name.str(), gpu.index,
                           rounded_up(line.allocated()), rounded_down(gpu.capacity()),
                           health_of(line));
    }
    if (!has_any) return {};
    return "\nGPUs that accept no new pods, not counted above:\n" + align_tabs(out);
}

void write_usage(JsonWriter& w, std::span<const NodeUsage> nodes) {
    w.member("version", 1);
    w.array("nodes", [&] {
        for (const NodeUsage& node : nodes)
            write_node(w, node);
    });
}

std::string usage_json(std::span<const NodeUsage> nodes) {
    JsonWriter w;
    w.object([&] { write_usage(w, nodes); });
    return w.take();
}

}  // namespace tessera
