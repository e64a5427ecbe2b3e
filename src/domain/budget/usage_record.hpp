// What a container had of a GPU during an interval: the only thing that GPU time is charged for.
// The node's agent makes the records from allocations, never from what a container reports.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera {

// Intervals are aligned: interval n is [60 n, 60 n + 60) in unix seconds.
inline constexpr std::int64_t kIntervalSeconds = 60;
// The ledger rolls records up to hours, aligned likewise.
inline constexpr std::int64_t kRollUpSeconds = 3600;
// Times of records, and of budgets, are in [0, kEndOfTime): until the year 2500.
inline constexpr std::int64_t kEndOfTime = 16'725'225'600;

// [from_s, to_s) in unix seconds. Empty if from_s >= to_s.
struct Window {
    std::int64_t from_s = 0;
    std::int64_t to_s = 0;

    [[nodiscard]] bool contains(std::int64_t unix_s) const {
        return from_s <= unix_s && unix_s < to_s;
    }
    [[nodiscard]] std::int64_t seconds() const { return to_s > from_s ? to_s - from_s : 0; }

    friend auto operator<=>(const Window&, const Window&) = default;
};

// The part that two windows have in common.
Window intersect(Window a, Window b);

// The identity of a record: of two records with one key at most one is charged. Names of
// containers are unique in a pod, init containers included.
struct UsageKey {
    PodUid pod;
    std::string container;
    GpuUuid gpu;
    std::int64_t interval = 0;  // number of the interval since 1970

    friend auto operator<=>(const UsageKey&, const UsageKey&) = default;
};

// Of one interval (as the agent writes it), or of several adjacent intervals in which nothing
// changed, within one hour (a roll-up).
struct UsageRecord {
    PodUid pod;
    std::string container;
    GpuUuid gpu;
    // Less than the whole interval where the container starts or ends in it. A container that
    // restarts within an interval has one record, from its first start to its last end: the share
    // stays allocated in between.
    Window time;
    PodName name;        // for reports; the namespace is charged
    std::string model;   // as the driver names it: "NVIDIA A100-SXM4-80GB"
    Bytes memory;        // of all shares of the container on this GPU together
    Bytes capacity;      // memory of the whole GPU
    Percent compute;     // likewise; 0: no guarantee
    bool whole = false;  // the container has the GPU alone; memory and compute do not count then

    friend auto operator<=>(const UsageRecord&, const UsageRecord&) = default;
};

// Of the record's first interval.
UsageKey key_of(const UsageRecord& record);

// Whether the record can be charged: it has an identity, a namespace, a time within one interval or
// one hour, and amounts within the GPU. An invalid_argument error names the field and the fix.
// Records from a node or a store must pass it before any other function of this folder gets them.
Result<> check_record(const UsageRecord& record);

// The records of the single intervals that a roll-up is made of.
std::vector<UsageRecord> split_into_intervals(const UsageRecord& record);

}  // namespace tessera
