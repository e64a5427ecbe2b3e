// Usage added up: how long each shape of GPU share was allocated. A charge depends on the shape and
// the seconds alone, so a few sums charge as much as all the records that they were made of.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/quantity.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

// What a charge depends on besides the time. The fields are those of UsageRecord.
struct UsageShape {
    std::string model;
    Bytes memory;
    Bytes capacity;
    Percent compute;
    bool whole = false;

    friend auto operator<=>(const UsageShape&, const UsageShape&) = default;
};

UsageShape shape_of(const UsageRecord& record);

// Seconds of several shares add up: two containers for an hour are 7200 s.
struct UsageSum {
    UsageShape shape;
    std::int64_t seconds = 0;

    friend auto operator<=>(const UsageSum&, const UsageSum&) = default;
};

}  // namespace tessera
