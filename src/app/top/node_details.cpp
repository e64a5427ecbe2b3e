// One paragraph per node, with its pods and its GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"
#include "app/top/gpu_uses.hpp"
#include "app/top/node_text.hpp"
#include "app/workload/view_text.hpp"

namespace tessera {
namespace {

std::string description_of(const NodeRow& row) {
    if (row.mode == NodeMode::exclusive) {
        return "  1.NVIDIA's device plugin assigns the GPUs of this node, each to one pod\n"
               "  2.Pods request nvidia.com/gpu\n";
    }
    if (row.usage.inventory.source == InventorySource::legacy) {
        return "  1.gpushare's device plugin assigns shares of the GPUs of this node\n"
               "  2.Pods request aliyun.com/gpu-mem\n";
    }
    return "  1.Pods share the GPUs of this node\n"
           "  2.Pods request tessera.dev/gpu-memory and tessera.dev/gpu-cores, or whole GPUs by "
           "tessera.dev/gpu\n";
}

std::string head_of(const NodeRow& row) {
    std::string out = align_tabs_and_trim(
        fmt::format("Name:\t{}\nStatus:\t{}\nRole:\t{}\nType:\t{}\nAddress:\t{}\n", row.name(),
                    row.facts.status, role_text(row.facts), type_of(row.mode),
                    or_none(row.usage.inventory.address)));
    if (row.mode != NodeMode::none) out += "Description:\n" + description_of(row);
    return out;
}

// "gpu0(4.0GiB),gpu1(4.0GiB)"
std::string memory_of(const PodUsage& pod, const NodeInventory& node) {
    std::string out;
    for (std::size_t i = 0; i < pod.on_gpu.size(); ++i) {
        if (pod.on_gpu[i].count == 0) continue;
        out += fmt::format("{}gpu{}({}GiB)", out.empty() ? "" : ",", node.gpus[i].index,
                           gib_text(pod.on_gpu[i]));
    }
    return or_none(out);
}

std::string cores_of(const PodUsage& pod, const NodeInventory& node) {
    std::string out;
    for (std::size_t i = 0; i < pod.cores_on_gpu.size(); ++i) {
        if (pod.cores_on_gpu[i].value == 0) continue;
        out += fmt::format("{}gpu{}({})", out.empty() ? "" : ",", node.gpus[i].index,
                           pod.cores_on_gpu[i].value);
    }
    return or_none(out);
}

std::string share_pods(const NodeRow& row) {
    std::string out =
        "  NAMESPACE\tNAME\tSTATUS\tGPU_MEM(Requested)\tGPU_MEM(Allocated)\tGPU_CORE(Requested)\t"
        "GPU_CORE(Allocated)\t\n"
        "  ---------\t----\t------\t------------------\t------------------\t-------------------\t"
        "-------------------\t\n";
    for (std::size_t i = 0; i < row.usage.pods.size(); ++i) {
        const PodUsage& pod = row.usage.pods[i];
        const PodSums sums = sums_of(pod);
        out +=
            fmt::format("  {}\t{}\t{}\t{} GiB\t{}\t{}\t{}\t\n", pod.name.ns, pod.name.name,
                        row.statuses[i], gib_text(sums.memory), memory_of(pod, row.usage.inventory),
                        sums.cores > 0 ? fmt::format("{}", sums.cores) : "N/A",
                        cores_of(pod, row.usage.inventory));
    }
    return align_tabs_and_trim(out);
}

std::string exclusive_pods(const NodeRow& row) {
    std::string out =
        "  NAMESPACE\tNAME\tSTATUS\tGPU(Requested)\t\n"
        "  ---------\t----\t------\t--------------\t\n";
    for (const PluginPod& pod : row.plugin_pods) {
        out +=
            fmt::format("  {}\t{}\t{}\t{}\t\n", pod.name.ns, pod.name.name, pod.status, pod.gpus);
    }
    return align_tabs_and_trim(out);
}

std::string gpus_of(const NodeRow& row, const NodeTextOptions& view) {
    const bool has_health = row.unhealthy() > 0;
    std::string out = "  INDEX\tMEMORY(Total)\tMEMORY(Allocated)\tCORE(Total)\tCORE(Allocated)\t";
    std::string line = "  -----\t-------------\t-----------------\t-----------\t---------------\t";
    if (view.has_uses) out += "MEMORY(Used)\tDUTY_CYCLE\t";
    if (view.has_uses) line += "------------\t----------\t";
    out += has_health ? "HEALTH\t\n" : "\n";
    out += line + (has_health ? "------\t\n" : "\n");
    const auto& gpus = row.usage.inventory.gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const Bytes allocated = row.usage.allocated(i);
        const double total = std::max<double>(static_cast<double>(gpus[i].capacity().count), 1);
        const int cores = row.allocated_cores(i);
        out += fmt::format("  {}\t{} GiB\t{} GiB({:.1f}%)\t100\t{}({:.1f}%)\t", gpus[i].index,
                           gib_text(gpus[i].capacity()), gib_text(allocated),
                           static_cast<double>(allocated.count) / total * 100, cores,
                           static_cast<double>(cores));
        if (view.has_uses) {
            const GpuUses used = uses_of(gpus[i].uuid, view.uses);
            out += fmt::format("{}\t{}\t", used.is_known ? gib_text(used.memory) + " GiB" : "N/A",
                               used.time ? fmt::format("{}%", *used.time) : "N/A");
        }
        if (has_health) out += std::string(words_of(gpus[i].condition)) + "\t";
        out += "\n";
    }
    return align_tabs_and_trim(out);
}

std::string summary_of(const NodeRow& row, const NodeTextOptions& view) {
    std::string out =
        fmt::format("GPU Summary:\n  Total GPUs: {}\n  Allocated GPUs: {}\n  Unhealthy GPUs: {}\n",
                    row.gpus(), tenths(row.allocated()), row.unhealthy());
    if (row.mode != NodeMode::share) return out;
    out += fmt::format(
        "  Total GPU Memory: {} GiB\n  Allocated GPU Memory: {} GiB\n  Total GPU Core: {}\n"
        "  Allocated GPU Core: {}\n",
        gib_text(row.memory()), gib_text(row.allocated_memory()), row.gpus() * 100,
        row.all_allocated_cores());
    if (!view.has_uses) return out;
    Bytes used;
    bool is_known = false;
    for (const Gpu& gpu : row.usage.inventory.gpus) {
        const GpuUses of_gpu = uses_of(gpu.uuid, view.uses);
        used += of_gpu.memory;
        is_known |= of_gpu.is_known;
    }
    return out + fmt::format("  Used GPU Memory: {}\n", is_known ? gib_text(used) + " GiB" : "N/A");
}

std::string details_of(const NodeRow& row, const NodeTextOptions& view) {
    std::string out = "\n" + head_of(row);
    if (row.mode == NodeMode::none) return out;
    out += "Instances:\n" + (row.mode == NodeMode::share ? share_pods(row) : exclusive_pods(row));
    if (row.mode == NodeMode::share) out += "GPUs:\n" + gpus_of(row, view);
    return out + summary_of(row, view);
}

}  // namespace

std::string node_details(std::span<const NodeRow> rows, const NodeTextOptions& view) {
    constexpr std::size_t kWidth = 100;
    std::string out;
    for (const NodeRow& row : rows)
        out += details_of(row, view);
    if (view.names_given || rows.empty()) return out;
    return out + "\n" + std::string(kWidth, '-') + "\n" + node_sums(rows);
}

}  // namespace tessera
