// Usage records for tests of budgets.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "domain/budget/usage_record.hpp"

namespace tessera::build {

// 2026-03-01 00:00:00 UTC.
inline constexpr std::int64_t kSomeMidnight = 1'772'323'200;
inline constexpr std::int64_t kHour = 3600;

// A quarter of GPU "g" with 80 GiB, from a midnight on.
inline UsageRecord usage(std::string pod, Window after_midnight, std::string ns = "team") {
    return {.pod = PodUid(pod),
            .container = "main",
            .gpu = GpuUuid("g"),
            .time = {kSomeMidnight + after_midnight.from_s, kSomeMidnight + after_midnight.to_s},
            .name = {std::move(ns), pod},
            .model = "NVIDIA A100-SXM4-80GB",
            .memory = gibibytes(20),
            .capacity = gibibytes(80),
            .compute = {25}};
}

// The records that an agent writes of a container that runs in the window: one for each interval.
inline std::vector<UsageRecord> usages(const UsageRecord& of_window) {
    return split_into_intervals(of_window);
}

// As an agent writes them: shares of a few containers, which start, end, restart and change within
// about three hours; some records twice, some that contradict each other, in any order. Times
// are after kSomeMidnight.
inline std::vector<UsageRecord> any_usages() {
    std::vector<UsageRecord> records;
    const int runs = *rc::gen::inRange(0, 8);
    for (int i = 0; i < runs; ++i) {
        const auto from_s = *rc::gen::inRange<std::int64_t>(0, 3 * kHour);
        const auto seconds = *rc::gen::inRange<std::int64_t>(1, 2 * kHour);
        UsageRecord run = usage(std::string(1, *rc::gen::elementOf(std::string("abc"))),
                                {from_s, from_s + seconds},
                                *rc::gen::element<std::string>("team", "team", "other"));
        run.container = *rc::gen::element<std::string>("main", "side");
        run.gpu = GpuUuid(*rc::gen::element<std::string>("g", "h"));
        run.model = *rc::gen::element<std::string>("NVIDIA A100-SXM4-80GB", "Tesla T4");
        run.memory = {*rc::gen::inRange<std::int64_t>(0, run.capacity.count + 1)};
        run.compute = {*rc::gen::inRange(0, 101)};
        run.whole = *rc::gen::inRange(0, 4) == 0;
        for (UsageRecord& record : split_into_intervals(run)) {
            if (*rc::gen::inRange(0, 8) == 0) records.push_back(record);
            records.push_back(std::move(record));
        }
    }
    return records;
}

// The same records in another order.
inline std::vector<UsageRecord> shuffled(std::vector<UsageRecord> records) {
    for (std::size_t i = records.size(); i > 1; --i)
        std::swap(records[i - 1], records[*rc::gen::inRange<std::size_t>(0, i)]);
    return records;
}

}  // namespace tessera::build
