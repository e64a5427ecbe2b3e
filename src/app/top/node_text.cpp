#include "app/top/node_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/tab_writer.hpp"
#include "app/workload/view_text.hpp"

namespace tessera {
namespace {

bool is_any(std::span<const NodeRow> rows, NodeMode mode) {
    return std::ranges::find(rows, mode, &NodeRow::mode) != rows.end();
}

bool are_all(std::span<const NodeRow> rows, NodeMode mode) {
    return !rows.empty() &&
           std::ranges::all_of(rows, [mode](const NodeRow& row) { return row.mode == mode; });
}

// The columns that all tables begin with.
std::string head_of(const NodeRow& row) {
    const std::string& address = row.usage.inventory.address;
    return fmt::format("{}\t{}\t{}\t{}\t", row.name(), or_none(address), role_text(row.facts),
                       row.facts.status);
}

int unhealthy_of(std::span<const NodeRow> rows) {
    int sum = 0;
    for (const NodeRow& row : rows)
        sum += row.unhealthy();
    return sum;
}

// "5.1/12 (42.5%)"
std::string part_text(const std::string& part, const std::string& whole, double percent) {
    return fmt::format("{}/{} ({:.1f}%)", part, whole, percent);
}

double percent(double part, double whole) {
    return whole > 0 ? part / whole * 100 : 0;
}

// The columns of a GPU of each number that any node has; "-" where a node has fewer.
std::string gpu_columns(const NodeRow* row, std::size_t most) {
    std::string out;
    for (std::size_t i = 0; i < most; ++i) {
        if (row == nullptr) {
            out += fmt::format("GPU{}(Allocated/Total)\t", i);
            continue;
        }
        const auto& gpus = row->usage.inventory.gpus;
        out += i < gpus.size() ? fmt::format("{}/{} GiB\t", gib_text(row->usage.allocated(i)),
                                             gib_text(gpus[i].capacity()))
                               : "-\t";
    }
    return out;
}

std::string share_table_of(std::span<const NodeRow> rows, bool per_gpu, bool has_unhealthy) {
    std::size_t most = 0;
    for (const NodeRow& row : rows)
        most = std::max(most, per_gpu ? row.usage.inventory.gpus.size() : 0);
    std::string out =
        "NAME\tIPADDRESS\tROLE\tSTATUS\tGPUs(Allocated/Total)\tGPU_MEMORY(Allocated/Total)\t"
        "GPU_CORE(Allocated/Total)\t" +
        gpu_columns(nullptr, most) + (has_unhealthy ? "UNHEALTHY\t\n" : "\n");
    for (const NodeRow& row : rows) {
        out += head_of(row);
        out += fmt::format("{}/{}\t{}/{} GiB\t{}/{}\t{}", tenths(row.allocated()), row.gpus(),
                           gib_text(row.allocated_memory()), gib_text(row.memory()),
                           row.all_allocated_cores(), row.gpus() * 100, gpu_columns(&row, most));
        out += has_unhealthy ? fmt::format("{}\t\n", row.unhealthy()) : "\n";
    }
    return align_tabs_and_trim(out);
}

std::string common_table_of(std::span<const NodeRow> rows, bool has_unhealthy) {
    const bool has_mode = is_any(rows, NodeMode::exclusive) && is_any(rows, NodeMode::share);
    std::string out = "NAME\tIPADDRESS\tROLE\tSTATUS\tGPU(Total)\tGPU(Allocated)\t";
    out += has_mode ? "GPU(Mode)\t" : "";
    out += has_unhealthy ? "UNHEALTHY\t\n" : "\n";
    for (const NodeRow& row : rows) {
        out += head_of(row) + fmt::format("{}\t{}\t", row.gpus(), tenths(row.allocated()));
        if (has_mode) out += fmt::format("{}\t", words_of(row.mode));
        out += has_unhealthy ? fmt::format("{}\t\n", row.unhealthy()) : "\n";
    }
    return align_tabs_and_trim(out);
}

std::size_t width_of(const std::string& table) {
    std::size_t most = 0;
    for (std::size_t at = 0; at < table.size();) {
        const std::size_t end = std::min(table.find('\n', at), table.size());
        most = std::max(most, end - at);
        at = end + 1;
    }
    return most;
}

// Of nodes that all have shares.
std::string share_sums(std::span<const NodeRow> rows) {
    Bytes total;
    Bytes allocated;
    int cores = 0;
    int gpus = 0;
    for (const NodeRow& row : rows) {
        total += row.memory();
        allocated += row.allocated_memory();
        cores += row.all_allocated_cores();
        gpus += row.gpus();
    }
    return fmt::format(
        "Allocated/Total GPU Memory of nodes with GPU shares In Cluster:\n{}/{} GiB ({:.1f}%)\n"
        "Allocated/Total GPU Core of nodes with GPU shares In Cluster:\n{}\n",
        gib_text(allocated), gib_text(total),
        percent(static_cast<double>(allocated.count), static_cast<double>(total.count)),
        part_text(fmt::format("{}", cores), fmt::format("{}", gpus * 100),
                  percent(cores, gpus * 100)));
}

}  // namespace

std::string gib_text(Bytes memory) {
    return fmt::format("{:.1f}", static_cast<double>(memory.count) / kGiB);
}

std::string role_text(const ShownNode& facts) {
    return facts.role.empty() ? "<none>" : facts.role;
}

std::string node_sums(std::span<const NodeRow> rows) {
    if (rows.empty()) return {};
    int gpus = 0;
    double allocated = 0;
    for (const NodeRow& row : rows) {
        gpus += row.gpus();
        allocated += row.allocated();
    }
    const bool is_share = are_all(rows, NodeMode::share);
    std::string out = "Allocated/Total GPUs ";
    if (is_share) out += "of nodes with GPU shares ";
    if (are_all(rows, NodeMode::exclusive)) out += "of nodes with the resource nvidia.com/gpu ";
    out += fmt::format("In Cluster:\n{}\n", part_text(tenths(allocated), fmt::format("{}", gpus),
                                                      percent(allocated, gpus)));
    if (is_share) out += share_sums(rows);
    if (const int unhealthy = unhealthy_of(rows); unhealthy > 0) {
        out += fmt::format("Unhealthy/Total GPUs In Cluster:\n{}\n",
                           part_text(fmt::format("{}", unhealthy), fmt::format("{}", gpus),
                                     percent(unhealthy, gpus)));
    }
    return out;
}

std::string node_table(std::span<const NodeRow> rows, const NodeTextOptions& view) {
    const bool has_unhealthy = unhealthy_of(rows) > 0;
    std::string table = are_all(rows, NodeMode::share)
                            ? share_table_of(rows, view.per_gpu, has_unhealthy)
                            : common_table_of(rows, has_unhealthy);
    if (view.names_given || rows.empty()) return table;
    return table + std::string(width_of(table), '-') + "\n" + node_sums(rows);
}

}  // namespace tessera
