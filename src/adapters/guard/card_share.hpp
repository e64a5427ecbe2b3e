// A share in the guard's units.
#pragma once

#include "base/quantity.hpp"
#include "guard/region/layout.hpp"

namespace tessera {

inline constexpr guard::Millionths kPercent = guard::kWhole / 100;

inline guard::Millionths millionths_of(Percent percent) {
    return static_cast<guard::Millionths>(percent.value) * kPercent;
}

// A limit is never exceeded by a part of a granule.
inline guard::Granules granules_within(Bytes bytes) {
    return static_cast<guard::Granules>(static_cast<std::uint64_t>(bytes.count) /
                                        guard::kGranuleBytes);
}

}  // namespace tessera
