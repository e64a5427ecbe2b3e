#include "app/cli/gpushare_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"

namespace tessera {
namespace {

std::int64_t units_up(Bytes bytes, MemoryUnit unit) {
    const std::int64_t size = bytes_per_unit(unit).count;
    return (bytes.count + size - 1) / size;
}

std::int64_t gpu_units(const NodeUsage& node, std::size_t gpu) {
    return node.inventory.gpus[gpu].capacity().count / bytes_per_unit(node.inventory.unit).count;
}

bool is_counted(const NodeUsage& node, std::size_t gpu, CountedGpus counted) {
    return counted == CountedGpus::all || node.inventory.gpus[gpu].usable();
}

// A legacy node reports its total itself; the sum of its equal GPUs would lose more.
std::int64_t total_units(const NodeUsage& node, CountedGpus counted) {
    if (node.inventory.gpus.empty() || node.inventory.source == InventorySource::legacy) {
        return node.inventory.gpu_mem;
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i)
        sum += is_counted(node, i, counted) ? gpu_units(node, i) : 0;
    return sum;
}

// Decided once, by the first node with GPUs, as in the original.
std::string_view unit_label(std::span<const NodeUsage> nodes) {
    for (const NodeUsage& node : nodes) {
        if (!node.inventory.gpus.empty()) return unit_name(node.inventory.unit);
    }
    return "";
}

// The original's arithmetic, in its order: 29 of 100 gives 28 %.
int percent(std::int64_t used, std::int64_t total) {
    if (total == 0) return 0;
    return static_cast<int>(static_cast<double>(used) / static_cast<double>(total) * 100);
}

std::string address_of(const NodeUsage& node) {
    return node.inventory.address.empty() ? "unknown" : node.inventory.address;
}

struct Total {
    std::int64_t used = 0;
    std::int64_t all = 0;

    [[nodiscard]] std::string text() const {
        return fmt::format("{}/{} ({}%)", used, all, percent(used, all));
    }
};

// The columns that all rows of the summary have.
struct Columns {
    std::size_t gpus = 0;
    bool has_pending = false;
};

std::string summary_row(const NodeUsage& node, const Columns& columns, CountedGpus counted,
                        Total& sum) {
    const MemoryUnit unit = node.inventory.unit;
    std::string row = fmt::format("{}\t{}\t", node.inventory.name.str(), address_of(node));
    std::int64_t used = 0;
    for (std::size_t i = 0; i < columns.gpus; ++i) {
        if (i >= node.inventory.gpus.size()) {
            row += "0/0\t";
            continue;
        }
        const std::int64_t allocated = units_up(node.allocated(i), unit);
        row += fmt::format("{}/{}", allocated, gpu_units(node, i));
        if (is_counted(node, i, counted)) {
            used += allocated;
        } else {
            row += fmt::format(" {}", words_of(node.inventory.gpus[i].condition));
        }
        row += '\t';
    }
    const std::int64_t pending = units_up(node.pending(), unit);
    used += pending;
    if (columns.has_pending) row += (pending > 0 ? std::to_string(pending) : "") + "\t";
    const std::int64_t total = total_units(node, counted);
    row += fmt::format("{}/{}\n", used, total);
    sum.used += used;
    sum.all += total;
    return row;
}

std::string pod_row(const PodUsage& pod, MemoryUnit unit, bool pending_column) {
    std::string row = fmt::format("{}\t{}\t", pod.name.name, pod.name.ns);
    for (const Bytes amount : pod.on_gpu)
        row += fmt::format("{}\t", units_up(amount, unit));
    if (pending_column) row += fmt::format("{}\t", units_up(pod.pending, unit));
    return row + "\n";
}

// The line below a node is as long as the first printed node's rows, plus ten.
std::string node_block(const NodeUsage& node, CountedGpus counted, std::size_t& rule_length,
                       Total& sum) {
    const MemoryUnit unit = node.inventory.unit;
    const bool pending_column = node.pending().count > 0;
    std::string out = fmt::format("\nNAME:\t{}\nIPADDRESS:\t{}\n\nNAME\tNAMESPACE\t",
                                  node.inventory.name.str(), address_of(node));
    for (const Gpu& gpu : node.inventory.gpus)
        out += fmt::format("GPU{}(Allocated)\t", gpu.index);
    if (pending_column) out += "Pending(Allocated)\t";
    out += '\n';
    std::string rows;
    std::int64_t used = 0;
    for (const PodUsage& pod : node.pods) {
        rows += pod_row(pod, unit, pending_column);
        for (std::size_t i = 0; i < pod.on_gpu.size(); ++i)
            used += is_counted(node, i, counted) ? units_up(pod.on_gpu[i], unit) : 0;
        used += units_up(pod.elsewhere, unit) + units_up(pod.pending, unit);
    }
    if (rule_length == 0) rule_length = rows.size() + 10;
    const std::int64_t total = total_units(node, counted);
    sum.used += used;
    sum.all += total;
    out += rows;
    out +=
        fmt::format("Allocated :\t{} ({}%)\t\nTotal :\t{} \t\n", used, percent(used, total), total);
    return out + std::string(rule_length, '-') + "\n";
}

}  // namespace

std::string gpushare_summary(std::span<const NodeUsage> nodes, CountedGpus counted) {
    Columns columns;
    for (const NodeUsage& node : nodes) {
        columns.gpus = std::max(columns.gpus, node.inventory.gpus.size());
        columns.has_pending |= node.pending().count > 0;
    }
    std::string out = "NAME\tIPADDRESS\t";
    for (std::size_t i = 0; i < columns.gpus; ++i)
        out += fmt::format("GPU{}(Allocated/Total)\t", i);
    if (columns.has_pending) out += "PENDING(Allocated)\t";
    out += fmt::format("GPU Memory({})\n", unit_label(nodes));
    Total sum;
    std::size_t rule_length = 0;
    for (const NodeUsage& node : nodes) {
        const std::string row = summary_row(node, columns, counted, sum);
        if (rule_length == 0) rule_length = row.size() + 20;
        out += row;
    }
    out += std::string(rule_length, '-');
    out += "\nAllocated/Total GPU Memory In Cluster:\n" + sum.text() + "\t\n";
    return align_tabs(out);
}

std::string gpushare_details(std::span<const NodeUsage> nodes, CountedGpus counted) {
    std::string out;
    Total sum;
    std::size_t rule_length = 0;
    for (const NodeUsage& node : nodes)
        out += node_block(node, counted, rule_length, sum);
    out += "\n\nAllocated/Total GPU Memory In Cluster:\t" + sum.text() + "\t\n";
    return align_tabs(out);
}

}  // namespace tessera
