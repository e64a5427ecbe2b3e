#include "simulator/traces/pai_csv.hpp"

#include <fmt/format.h>

#include "domain/placement/engine/node_load.hpp"
#include "wire/text/csv.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::int64_t kMibPerGib = 1024;
constexpr std::int64_t kMilliPerPercent = 10;
constexpr std::int64_t kMostInstances = 100'000;
constexpr std::int64_t kMostInstancesInAll = 10'000'000;

constexpr std::string_view kMachineColumns = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu";
constexpr std::string_view kTaskColumns =
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type";

// Amounts are empty if nothing was requested.
Result<std::int64_t> amount(const CsvTable& table, std::size_t row, std::size_t column,
                            std::int64_t scale, std::int64_t most) {
    if (table.text(row, column).empty()) return 0;
    return table.decimal(row, column, scale, most);
}

}  // namespace

Result<std::vector<OpenbNode>> read_pai_machines(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text, kMachineColumns));
    TRY(const auto columns, table.columns("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"));
    const auto [name, model, cpu, memory, gpus] = columns;
    std::vector<OpenbNode> nodes;
    for (std::size_t row = 0; row < table.size(); ++row) {
        TRY(const std::int64_t cpu_milli, table.decimal(row, cpu, 1000, kMost));
        TRY(const std::int64_t memory_mib, table.decimal(row, memory, kMibPerGib, kMost));
        TRY(const std::int64_t count, table.whole(row, gpus, kMaxGpus));
        if (count > 0 && table.text(row, model).empty())
            return fail(table.fault(row, model, "empty, but the machine has GPUs"));
        nodes.push_back({.name = std::string(table.text(row, name)),
                         .cpu_milli = static_cast<std::int32_t>(cpu_milli),
                         .memory_mib = static_cast<std::int32_t>(memory_mib),
                         .gpus = static_cast<int>(count),
                         .model = std::string(count > 0 ? table.text(row, model) : "")});
    }
    return nodes;
}

Result<std::vector<TraceTask>> read_pai_tasks(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text, kTaskColumns));
    TRY(const auto columns, table.columns("job_name", "task_name", "inst_num", "start_time",
                                          "end_time", "plan_cpu", "plan_mem", "plan_gpu"));
    const auto [job, name, instances, started, ended, cpu, memory, gpu] = columns;
    std::vector<TraceTask> tasks;
    std::int64_t in_all = 0;
    for (std::size_t row = 0; row < table.size(); ++row) {
        if (table.text(row, started).empty()) continue;
        TRY(const std::int64_t came_s, table.decimal(row, started, 1, kMost));
        TRY(const std::int64_t end_s, amount(table, row, ended, 1, kMost));
        if (end_s != 0 && end_s < came_s) return fail(table.fault(row, ended, "before it started"));
        TRY(const std::int64_t count, table.whole(row, instances, kMostInstances));
        if (count == 0) continue;
        in_all += count;
        if (in_all > kMostInstancesInAll) {
            return fail(table.fault(
                row, instances,
                fmt::format("with this line there are more than {} instances, the most that are "
                            "read; leave out this line and those after it, or other lines",
                            kMostInstancesInAll)));
        }
        TRY(const std::int64_t cpu_milli, amount(table, row, cpu, kMilliPerPercent, kMost));
        TRY(const std::int64_t memory_mib, amount(table, row, memory, kMibPerGib, kMost));
        TRY(const std::int64_t milli,
            amount(table, row, gpu, kMilliPerPercent, std::int64_t{kMaxGpus} * kMilliPerGpu));
        const std::int64_t gpus = (milli + kMilliPerGpu - 1) / kMilliPerGpu;
        tasks.push_back(
            {.pod = {.name = fmt::format("{}/{}", table.text(row, job), table.text(row, name)),
                     .cpu_milli = static_cast<std::int32_t>(cpu_milli),
                     .memory_mib = static_cast<std::int32_t>(memory_mib),
                     .gpus = static_cast<std::int16_t>(gpus),
                     .milli = static_cast<std::int16_t>(gpus > 1 ? kMilliPerGpu : milli),
                     .models = {},
                     .lasts_s = end_s == 0 ? std::nullopt : std::optional(end_s - came_s)},
             .came_s = came_s,
             .instances = static_cast<int>(count)});
    }
    return tasks;
}

}  // namespace tessera
