#include "app/sim/gangs.hpp"

#include <fmt/format.h>

#include <random>

#include "domain/request/gang.hpp"
#include "wire/csv.hpp"

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
        return fail(Code::invalid_argument,
                    fmt::format("\"{}\" is no share of gangs: write \"10%x8\" for gangs of 8 (2 to "
                                "{}) in place of 10 percent (1 to 100) of the pods",
                                text, kMostGangPods));
    }
    return GangShare{static_cast<int>(percent), static_cast<int>(size)};
}

void make_gangs(Workload& workload, const GangShare& share, std::uint64_t seed) {
    if (share.percent == 0) return;
    std::mt19937_64 draws(seed);
    for (TimedTask& pod : workload.pods) {
        if (pod.task.count == 0) continue;
        if (static_cast<int>(draws() % 100) < share.percent) pod.gang = share.size;
    }
    spread_gangs(workload);
}

void spread_gangs(Workload& workload) {
    std::vector<Task> arrivals;
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
