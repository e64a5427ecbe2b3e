#include "simulator/traces/dlrm_csv.hpp"

#include <fmt/format.h>

#include <optional>

#include "domain/placement/engine/node_load.hpp"
#include "wire/text/csv.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::int64_t kMibPerGib = 1024;

// Nothing if the trace does not contain the time.
Result<std::optional<std::int64_t>> seconds(const CsvTable& table, std::size_t row,
                                            std::size_t column) {
    const std::string_view text = table.text(row, column);
    if (text.empty() || text == "NaN" || text == "nan") return std::nullopt;
    TRY(const std::int64_t value, table.decimal(row, column, 1, kMost));
    return std::optional(value);
}

// 0 if there is no limit.
Result<int> most_on_node(const CsvTable& table, std::size_t row, std::size_t column) {
    if (table.text(row, column) == "-1") return 0;
    TRY(const std::int64_t most, table.decimal(row, column, 1, kMost));
    if (most < 1) return fail(table.fault(row, column, "is neither -1 nor a number from 1"));
    return static_cast<int>(most);
}

}  // namespace

Result<std::vector<TraceTask>> read_dlrm_instances(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text));
    TRY(const auto columns, table.columns("instance_sn", "role", "cpu_request", "gpu_request",
                                          "memory_request", "app_name", "max_instance_per_node",
                                          "creation_time", "scheduled_time", "deletion_time"));
    const auto [name, role, cpu, gpus, memory, app, on_node, made, started, ended] = columns;
    std::vector<TraceTask> tasks;
    for (std::size_t row = 0; row < table.size(); ++row) {
        const std::string_view of = table.text(row, role);
        if (of == "CN") continue;
        if (of != "HN") return fail(table.fault(row, role, "is neither CN nor HN"));
        TRY(const std::int64_t cpu_milli, table.decimal(row, cpu, 1000, kMost));
        TRY(const std::int64_t count, table.decimal(row, gpus, 1, kMaxGpus));
        TRY(const std::int64_t memory_mib, table.decimal(row, memory, kMibPerGib, kMost));
        TRY(const auto came, seconds(table, row, made));
        TRY(const auto start, seconds(table, row, started));
        TRY(const auto end, seconds(table, row, ended));
        TRY(const int most, most_on_node(table, row, on_node));
        const auto from = start ? start : came;
        if (from && end && *end < *from)
            return fail(table.fault(row, ended, "before its creation or scheduling"));
        tasks.push_back(
            {.pod = {.name = std::string(table.text(row, name)),
                     .cpu_milli = static_cast<std::int32_t>(cpu_milli),
                     .memory_mib = static_cast<std::int32_t>(memory_mib),
                     .gpus = static_cast<std::int16_t>(count),
                     .milli = static_cast<std::int16_t>(count > 0 ? kMilliPerGpu : 0),
                     .models = {},
                     .lasts_s = from && end ? std::optional(*end - *from) : std::nullopt},
             .came_s = came.value_or(-1),
             .app = std::string(table.text(row, app)),
             .most_on_node = most});
    }
    return tasks;
}

}  // namespace tessera
