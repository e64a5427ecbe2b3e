#include "simulator/traces/openb_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "domain/placement/engine/node_load.hpp"
#include "wire/text/byte_order_mark.hpp"
#include "wire/text/csv.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;  // for CPU milli and for MiB

// One line of row numbers, as far as it is read.
struct RowList {
    std::string_view name;
    std::size_t rows;
    bool is_there = false;
    std::vector<std::uint32_t> list;
};

Result<> read_rows(std::string_view words, std::size_t line, RowList& into) {
    if (into.is_there) {
        return fail(Code::invalid_argument,
                    fmt::format("line {}: a second line of {} rows", line, into.name));
    }
    into.is_there = true;
    for (std::size_t word = 2; !words.empty(); ++word) {
        const std::size_t ns = words.find(' ');
        const std::string_view text = words.substr(0, ns);
        words.remove_prefix(ns == std::string_view::npos ? words.size() : ns + 1);
        std::int64_t row = 0;
        if (!parse_whole(text, static_cast<std::int64_t>(into.rows) - 1, row)) {
            return fail(Code::invalid_argument,
                        fmt::format("line {}, word {}: \"{}\" is not a row of the {} {}s", line,
                                    word, text, into.rows, into.name));
        }
        into.list.push_back(static_cast<std::uint32_t>(row));
    }
    return {};
}

// Finds "arrivals=10866" among the words of a comment line.
std::optional<std::int64_t> stated_arrivals(std::string_view remark) {
    constexpr std::string_view kKey = " arrivals=";
    const std::size_t at = remark.find(kKey);
    if (!remark.starts_with('#') || at == std::string_view::npos) return std::nullopt;
    std::string_view number = remark.substr(at + kKey.size());
    number = number.substr(0, number.find(' '));
    std::int64_t stated = 0;
    if (!parse_whole(number, std::numeric_limits<std::int64_t>::max(), stated)) return std::nullopt;
    return stated;
}

Result<> check_once(const std::vector<std::uint32_t>& nodes) {
    auto sorted = nodes;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return {};
    return fail(Code::invalid_argument, fmt::format("node row {} appears twice", *twice));
}

// The columns with a pod's times; some lists have none of them.
struct Times {
    bool are_there = false;
    std::size_t came = 0;
    std::size_t started = 0;  // empty for a pod that never started
    std::size_t ended = 0;

    static Result<Times> of(const CsvTable& table) {
        Times times{.are_there = table.has("deletion_time")};
        if (!times.are_there) return times;
        TRY(times.came, table.column("creation_time"));
        TRY(times.started, table.column("scheduled_time"));
        TRY(times.ended, table.column("deletion_time"));
        return times;
    }

    [[nodiscard]] Result<std::optional<std::int64_t>> came_s(const CsvTable& table,
                                                             std::size_t row) const {
        if (!are_there || table.text(row, came).empty()) return std::nullopt;
        TRY(const std::int64_t at, table.number(row, came, kMost));
        return at;
    }

    [[nodiscard]] Result<std::optional<std::int64_t>> lasts_s(const CsvTable& table,
                                                              std::size_t row) const {
        if (!are_there || table.text(row, ended).empty()) return std::nullopt;
        const std::size_t from = table.text(row, started).empty() ? came : started;
        TRY(const std::int64_t begin, table.number(row, from, kMost));
        TRY(const std::int64_t end, table.number(row, ended, kMost));
        if (end < begin) return fail(table.fault(row, ended, "before the pod's creation or start"));
        return end - begin;
    }
};

}  // namespace

Result<std::vector<OpenbNode>> read_openb_nodes(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text));
    TRY(const auto columns, table.columns("sn", "cpu_milli", "memory_mib", "gpu", "model"));
    const auto [name, cpu, memory, gpus, model] = columns;
    std::vector<OpenbNode> nodes;
    nodes.reserve(table.size());
    std::unordered_map<std::string_view, std::size_t> lines;  // by name
    for (std::size_t row = 0; row < table.size(); ++row) {
        TRY(const std::int64_t cpu_milli, table.number(row, cpu, kMost));
        TRY(const std::int64_t memory_mib, table.number(row, memory, kMost));
        TRY(const std::int64_t count, table.number(row, gpus, kMaxGpus));
        if (count > 0 && table.text(row, model).empty())
            return fail(table.fault(row, model, "empty, but the node has GPUs"));
        const auto [other, is_new] = lines.emplace(table.text(row, name), table.line(row));
        if (!is_new) {
            return fail(table.fault(row, name,
                                    fmt::format("\"{}\" appears twice, first on line {}",
                                                other->first, other->second)));
        }
        nodes.push_back({.name = std::string(table.text(row, name)),
                         .cpu_milli = static_cast<std::int32_t>(cpu_milli),
                         .memory_mib = static_cast<std::int32_t>(memory_mib),
                         .gpus = static_cast<int>(count),
                         .model = std::string(table.text(row, model))});
    }
    return nodes;
}

Result<std::vector<OpenbPod>> read_openb_pods(std::string_view text) {
    TRY(const CsvTable table, CsvTable::read(text));
    TRY(const auto columns,
        table.columns("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"));
    const auto [name, cpu, memory, gpus, share] = columns;
    std::size_t spec = name;
    const bool has_spec = table.has("gpu_spec");
    if (has_spec) spec = *table.column("gpu_spec");
    const bool has_gang = table.has("gang");
    const std::size_t gang = has_gang ? *table.column("gang") : name;
    TRY(const Times times, Times::of(table));
    std::vector<OpenbPod> pods;
    pods.reserve(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) {
        TRY(const std::int64_t cpu_milli, table.number(row, cpu, kMost));
        TRY(const std::int64_t memory_mib, table.number(row, memory, kMost));
        TRY(const std::int64_t count, table.number(row, gpus, kMaxGpus));
        TRY(const std::int64_t milli, table.number(row, share, kMilliPerGpu));
        if ((count == 0) != (milli == 0)) {
            return fail(table.fault(
                row, share, "0 for a pod with GPUs, or more for a pod without; fix it or num_gpu"));
        }
        TRY(const std::optional<std::int64_t> lasts_s, times.lasts_s(table, row));
        TRY(const std::optional<std::int64_t> came_s, times.came_s(table, row));
        pods.push_back({.name = std::string(table.text(row, name)),
                        .cpu_milli = static_cast<std::int32_t>(cpu_milli),
                        .memory_mib = static_cast<std::int32_t>(memory_mib),
                        .gpus = static_cast<std::int16_t>(count),
                        .milli = static_cast<std::int16_t>(milli),
                        .models = std::string(has_spec ? table.text(row, spec) : ""),
                        .lasts_s = lasts_s,
                        .came_s = came_s,
                        .gang = std::string(has_gang ? table.text(row, gang) : "")});
    }
    return pods;
}

Result<ArrivalOrder> read_arrivals(std::string_view text, std::size_t nodes, std::size_t pods) {
    RowList node_rows{.name = "node", .rows = nodes};
    RowList pod_rows{.name = "pod", .rows = pods};
    text = without_byte_order_mark(text);
    std::string_view rest = text;
    const auto stated = stated_arrivals(take_line(rest));
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::string_view words = take_line(text);
        if (words.empty() || words.starts_with('#')) continue;
        const bool is_nodes = words.starts_with("N ");
        if (!is_nodes && !words.starts_with("P ")) {
            return fail(Code::invalid_argument,
                        fmt::format("line {}: does not begin with N, P or #", line));
        }
        TRY_VOID(read_rows(words.substr(2), line, is_nodes ? node_rows : pod_rows));
    }
    for (const RowList& list : {node_rows, pod_rows}) {
        if (!list.is_there) {
            return fail(Code::invalid_argument, fmt::format("missing line of {} rows", list.name));
        }
    }
    if (stated && static_cast<std::size_t>(*stated) != pod_rows.list.size()) {
        return fail(Code::invalid_argument,
                    fmt::format("line 1 states {} arrivals, and there are {}: get the whole file, "
                                "or fix that line",
                                *stated, pod_rows.list.size()));
    }
    TRY_VOID(check_once(node_rows.list));
    return ArrivalOrder{std::move(node_rows.list), std::move(pod_rows.list)};
}

}  // namespace tessera
