// How far the pods of a node are charged, as an agent keeps it for the next one:
//
//     {"version":1,"boot":"…","pods":[{"podUid":"…","namespace":"default","pod":"train",
//      "chargedToNs":1767225630500000000,"runningNs":…,"openFrom":1767225600,"openTo":1767225630,
//      "shares":[{"container":"main","gpu":"GPU-…","model":"NVIDIA A100-SXM4-80GB",
//      "memoryBytes":3221225472,"capacityBytes":85899345920,"computePercent":25,"whole":false}],
//      "most":[…]}]}
//
// The fields are those of PodMeter. openFrom and openTo are unix seconds, and equal if nothing is
// open.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/metering/usage_meter.hpp"

namespace tessera {

inline constexpr int kMeterStateVersion = 1;

std::string write_meter_state(const MeterState& state);

// The error names the field: invalid_argument for broken text, unsupported for a newer version.
Result<MeterState> read_meter_state(std::string_view text);

}  // namespace tessera
