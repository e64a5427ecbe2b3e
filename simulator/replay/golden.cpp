#include "simulator/replay/golden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "wire/text/csv.hpp"

namespace tessera {
namespace {

// The artefact says GpuPacking and GpuClustering where the paper has Packing and Clustering.
Result<std::string> our_name(std::string_view policy) {
    if (policy.starts_with("Gpu")) policy.remove_prefix(3);
    TRY(const PlacementPolicyRow* row, find_placement_policy(policy));
    return std::string(row->name);
}

Result<double> figure(const CsvTable& table, std::size_t row, std::string_view name, int percent) {
    TRY(const std::size_t column, table.column(fmt::format("{}_{}", name, percent)));
    const std::string_view text = table.text(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(table.fault(row, column, fmt::format("\"{}\" is not a number", text)));
    return value;
}

// Parses "0-1" as a set; an empty text is an empty set.
Result<GpuSet> gpu_set(const CsvTable& table, std::size_t row, std::size_t column) {
    std::string_view text = table.text(row, column);
    GpuSet gpus = 0;
    while (!text.empty()) {
        const std::size_t dash = text.find('-');
        std::int64_t gpu = 0;
        if (!parse_whole(text.substr(0, dash), kMaxGpus - 1, gpu))
            return fail(table.fault(row, column, fmt::format("\"{}\" is not a GPU", text)));
        gpus = static_cast<GpuSet>(gpus | gpu_bit(static_cast<int>(gpu)));
        text.remove_prefix(dash == std::string_view::npos ? text.size() : dash + 1);
    }
    return gpus;
}

}  // namespace

Result<std::vector<GoldenRow>> read_golden(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text));
    TRY(const std::size_t trace, table.column("trace"));
    TRY(const std::size_t policy, table.column("policy"));
    TRY(const std::size_t seed, table.column("seed"));
    std::vector<GoldenRow> rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
        TRY(const std::int64_t number, table.number(i, seed, std::numeric_limits<int>::max()));
        auto name = our_name(table.text(i, policy));
        if (!name) return fail(table.fault(i, policy, name.error().text));
        GoldenRow row{.trace = std::string(table.text(i, trace)),
                      .policy = *std::move(name),
                      .seed = static_cast<int>(number)};
        for (std::size_t at = 0; at < kGoldenPercents.size(); ++at) {
            GoldenPoint& point = row.points[at];
            TRY(point.allocation, figure(table, i, "alloc", kGoldenPercents[at]));
            TRY(point.fragmentation, figure(table, i, "frag", kGoldenPercents[at]));
            TRY(point.ratio, figure(table, i, "ratio", kGoldenPercents[at]));
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

Result<std::vector<GoldenPlaced>> read_placements(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text));
    TRY(const std::size_t pod, table.column("pod_row"));
    TRY(const std::size_t node, table.column("node_row"));
    TRY(const std::size_t gpus, table.column("gpus"));
    std::vector<GoldenPlaced> rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
        constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
        GoldenPlaced row;
        TRY(const std::int64_t pod_row, table.number(i, pod, kMostRows));
        row.pod_row = static_cast<std::uint32_t>(pod_row);
        if (table.text(i, node) != "-1") {
            TRY(const std::int64_t node_row, table.number(i, node, kMostRows));
            row.node_row = static_cast<std::int32_t>(node_row);
        }
        TRY(row.gpus, gpu_set(table, i, gpus));
        rows.push_back(row);
    }
    return rows;
}

std::size_t placed_elsewhere(std::span<const GoldenPlaced> golden, const Workload& workload,
                             std::span<const Placed> placed) {
    const std::size_t both = std::min(golden.size(), placed.size());
    std::size_t elsewhere = std::max(golden.size(), placed.size()) - both;
    for (std::size_t i = 0; i < both; ++i) {
        GoldenPlaced ours{.pod_row = workload.pod_rows[i], .gpus = placed[i].gpus};
        if (placed[i].node >= 0) {
            const auto node = static_cast<std::size_t>(placed[i].node);
            ours.node_row = static_cast<std::int32_t>(workload.node_rows[node]);
        }
        elsewhere += ours == golden[i] ? 0 : 1;
    }
    return elsewhere;
}

double furthest(const GoldenRow& golden, const Curve& curve) {
    double most = 0;
    for (std::size_t at = 0; at < kGoldenPercents.size(); ++at) {
        const GoldenPoint& wanted = golden.points[at];
        const CurvePoint& found = curve[static_cast<std::size_t>(kGoldenPercents[at])];
        most = std::max({most, std::abs(wanted.allocation - found.allocation),
                         std::abs(wanted.fragmentation - found.fragmentation),
                         std::abs(wanted.ratio - found.ratio)});
    }
    return most;
}

}  // namespace tessera
