// A share in the guard's units.
#pragma once

#include "base/quantity.hpp"
#include "guard/region/layout.hpp"

namespace tessera {

inline constexpr guard::Millionths kPercent = guard::kWhole / 100;

inline guard::Millionths millionths_of(Percent percent) {
    return static_cast<guard::Millionths>(percent.value) * kPercent;
}

// Rounds down to whole allocation units, so that a limit is never exceeded.
inline guard::AllocationUnits units_within(Bytes bytes) {
    return static_cast<guard::AllocationUnits>(static_cast<std::uint64_t>(bytes.count) /
                                               guard::kAllocationUnitBytes);
}

}  // namespace tessera
