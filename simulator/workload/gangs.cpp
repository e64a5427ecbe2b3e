#include "simulator/workload/gangs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "domain/request/gang.hpp"
#include "wire/text/csv.hpp"

namespace tessera {

Result<GangShare> read_gang_share(std::string_view text) {
    constexpr std::string_view kBetween = "%x";
    const std::size_t at = text.find(kBetween);
    std::int64_t percent = 0;
    std::int64_t size = 0;
    const bool is_read = at != std::string_view::npos && at > 0 &&
                         at + kBetween.size() < text.size() &&
                         parse_whole(text.substr(0, at), 100, percent) &&
                         parse_whole(text.substr(at + kBetween.size()), kMostGangPods, size);
    if (!is_read || percent < 1 || size < 2) {
        return fail(
            Code::invalid_argument,
            fmt::format("\"{}\" is not a share of gangs: write \"10%x8\" for gangs of 8 (2 to "
                        "{}) in place of 10 percent (1 to 100) of the pods",
                        text, kMostGangPods));
    }
    return GangShare{static_cast<int>(percent), static_cast<int>(size)};
}

void name_gangs(Workload& workload, std::span<const std::string> names) {
    std::map<std::string_view, std::vector<std::size_t>> rows;  // rows of the pods of each gang
    for (std::size_t row = 0; row < names.size(); ++row) {
        if (!names[row].empty()) rows[names[row]].push_back(row);
    }
    if (rows.empty()) return;
    for (const auto& [name, of] : rows) {
        TimedTask& first = workload.pods[of.front()];
        for (const std::size_t row : of) {
            TimedTask& pod = workload.pods[row];
            workload.has_mixed_gangs |= pod.task != first.task;
            first.lasts_s = std::max(first.lasts_s, pod.lasts_s);
            first.came_s = std::max(first.came_s, pod.came_s);
            pod.gang = 0;
        }
        first.gang = static_cast<int>(of.size());
    }
    std::map<std::string_view, std::vector<std::uint32_t>> came;
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> together;
    for (const std::uint32_t row : workload.pod_rows) {
        if (names[row].empty()) {
            order.push_back(row);
            together.push_back(1);
            continue;
        }
        std::vector<std::uint32_t>& gang = came[names[row]];
        gang.push_back(row);
        if (gang.size() < rows[names[row]].size()) continue;
        order.insert(order.end(), gang.begin(), gang.end());
        together.push_back(static_cast<std::uint32_t>(gang.size()));
        together.insert(together.end(), gang.size() - 1, 0);
        gang.clear();
    }
    workload.arrivals.clear();
    for (const std::uint32_t row : order)
        workload.arrivals.push_back(workload.pods[row].task);
    workload.pod_rows = std::move(order);
    workload.together = std::move(together);
}

Result<> make_gangs(Workload& workload, const GangShare& share, std::uint64_t seed) {
    if (share.percent == 0) return {};
    if (!workload.together.empty()) {
        return fail(Code::invalid_argument,
                    "--gangs: the trace has gangs of its own; leave the option out");
    }
    std::mt19937_64 draws(seed);
    for (TimedTask& pod : workload.pods) {
        if (pod.task.count == 0) continue;
        if (static_cast<int>(draws() % 100) < share.percent) pod.gang = share.size;
    }
    spread_gangs(workload);
    return {};
}

void spread_gangs(Workload& workload) {
    std::vector<PlacementTask> arrivals;
    std::vector<std::uint32_t> rows;
    workload.together.clear();
    for (std::size_t i = 0; i < workload.arrivals.size(); ++i) {
        const std::uint32_t row = workload.pod_rows[i];
        const auto size = static_cast<std::size_t>(workload.pods[row].gang);
        arrivals.insert(arrivals.end(), size, workload.arrivals[i]);
        rows.insert(rows.end(), size, row);
        workload.together.push_back(static_cast<std::uint32_t>(size));
        workload.together.insert(workload.together.end(), size - 1, 0);
    }
    workload.arrivals = std::move(arrivals);
    workload.pod_rows = std::move(rows);
}

}  // namespace tessera
