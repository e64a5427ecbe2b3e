#include "domain/budget/usage_record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr Bytes kMostCapacity{std::int64_t{1} << 50};

tl::unexpected<Error> refuse(std::string_view field, std::string why) {
    return fail(Code::invalid_argument, fmt::format("usage record: {} {}", field, std::move(why)));
}

Result<> check_identity(const UsageRecord& record) {
    if (record.pod.empty()) return refuse("pod", "is empty; write the pod's uid");
    if (record.container.empty()) return refuse("container", "is empty; write its name");
    if (record.gpu.empty()) return refuse("gpu", "is empty; write the GPU's UUID");
    if (record.name.ns.empty()) return refuse("name.ns", "is empty; write the pod's namespace");
    return {};
}

Result<> check_time(Window time) {
    if (time.from_s < 0 || time.to_s > kEndOfTime)
        return refuse("time", "is before 1970 or after 2499; check the node's clock");
    if (time.from_s >= time.to_s) return refuse("time", "is empty; write a start before the end");
    if (time.from_s / kRollUpSeconds != (time.to_s - 1) / kRollUpSeconds)
        return refuse("time", "is of several hours; write a record for each");
    return {};
}

}  // namespace

Window intersect(Window a, Window b) {
    return {std::max(a.from_s, b.from_s), std::min(a.to_s, b.to_s)};
}

UsageKey key_of(const UsageRecord& record) {
    return {record.pod, record.container, record.gpu, record.time.from_s / kIntervalSeconds};
}

Result<> check_record(const UsageRecord& record) {
    TRY_VOID(check_identity(record));
    TRY_VOID(check_time(record.time));
    if (record.capacity <= Bytes{} || record.capacity > kMostCapacity) {
        return refuse("capacity", fmt::format("is {} bytes; write the memory of the whole GPU",
                                              record.capacity.count));
    }
    if (record.memory < Bytes{} || record.memory > record.capacity) {
        return refuse("memory", fmt::format("is {} bytes; write 0 to {}, which the GPU has",
                                            record.memory.count, record.capacity.count));
    }
    if (record.compute < Percent{0} || record.compute > Percent{100}) {
        return refuse("compute",
                      fmt::format("is {} percent; write 0 to 100", record.compute.value));
    }
    return {};
}

std::vector<UsageRecord> split_into_intervals(const UsageRecord& record) {
    std::vector<UsageRecord> pieces;
    std::int64_t from_s = record.time.from_s;
    while (from_s < record.time.to_s) {
        const std::int64_t next_s = (from_s / kIntervalSeconds + 1) * kIntervalSeconds;
        UsageRecord& piece = pieces.emplace_back(record);
        piece.time = {from_s, std::min(next_s, record.time.to_s)};
        from_s = piece.time.to_s;
    }
    return pieces;
}

}  // namespace tessera
