#include "domain/budget/roll_up.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera {
namespace {

using Pointers = std::vector<const UsageRecord*>;

std::int64_t first_interval(const UsageRecord& record) {
    return record.time.from_s / kIntervalSeconds;
}

std::int64_t last_interval(const UsageRecord& record) {
    return (record.time.to_s - 1) / kIntervalSeconds;
}

bool is_of_same_share(const UsageRecord& a, const UsageRecord& b) {
    return a.pod == b.pod && a.container == b.container && a.gpu == b.gpu;
}

bool is_same_but_for_time(const UsageRecord& a, const UsageRecord& b) {
    return is_of_same_share(a, b) && a.name == b.name && a.model == b.model &&
           a.memory == b.memory && a.capacity == b.capacity && a.compute == b.compute &&
           a.whole == b.whole;
}

bool outranks(const UsageRecord& a, const UsageRecord& b) {
    if (a.time.seconds() != b.time.seconds()) return a.time.seconds() > b.time.seconds();
    return a > b;
}

// Records of one share that have intervals in common: the best of each interval.
void visit_best(std::span<const UsageRecord* const> records,
                const std::function<void(const UsageRecord&)>& visit) {
    if (records.size() == 1) {
        visit(*records.front());
        return;
    }
    std::map<std::int64_t, UsageRecord> best;
    for (const UsageRecord* record : records) {
        for (UsageRecord& piece : split_into_intervals(*record)) {
            const auto [at, is_new] = best.try_emplace(first_interval(piece), piece);
            if (!is_new && outranks(piece, at->second)) at->second = std::move(piece);
        }
    }
    for (const auto& [interval, record] : best)
        visit(record);
}

}  // namespace

void visit_distinct(std::span<const UsageRecord> records,
                    const std::function<void(const UsageRecord&)>& visit) {
    Pointers sorted;
    sorted.reserve(records.size());
    for (const UsageRecord& record : records)
        sorted.push_back(&record);
    const auto precedes = [](const UsageRecord* a, const UsageRecord* b) {
        return std::tie(a->pod, a->container, a->gpu, a->time) <
               std::tie(b->pod, b->container, b->gpu, b->time);
    };
    // A store returns them in order. Sorting them again takes half of the time of a fold.
    if (!std::ranges::is_sorted(sorted, precedes)) std::ranges::sort(sorted, precedes);
    for (std::size_t from = 0; from < sorted.size();) {
        std::int64_t last = last_interval(*sorted[from]);
        std::size_t to = from + 1;
        while (to < sorted.size() && is_of_same_share(*sorted[from], *sorted[to]) &&
               first_interval(*sorted[to]) <= last) {
            last = std::max(last, last_interval(*sorted[to]));
            ++to;
        }
        visit_best(std::span(sorted).subspan(from, to - from), visit);
        from = to;
    }
}

std::vector<UsageRecord> distinct_records(std::span<const UsageRecord> records) {
    std::vector<UsageRecord> out;
    out.reserve(records.size());
    visit_distinct(records, [&](const UsageRecord& record) { out.push_back(record); });
    return out;
}

std::vector<UsageRecord> roll_up(std::span<const UsageRecord> records) {
    std::vector<UsageRecord> out;
    visit_distinct(records, [&](const UsageRecord& record) {
        const bool continues =
            !out.empty() && out.back().time.to_s == record.time.from_s &&
            out.back().time.from_s / kRollUpSeconds == record.time.from_s / kRollUpSeconds &&
            is_same_but_for_time(out.back(), record);
        if (continues) {
            out.back().time.to_s = record.time.to_s;
        } else {
            out.push_back(record);
        }
    });
    return out;
}

}  // namespace tessera
