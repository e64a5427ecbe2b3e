// The output of tessera-mps-probe (guard/probe/mps_probe.cpp), one line:
//     {"version":1,"deviceMultiprocessors":32,"usedMultiprocessors":32,"blocksPerSecond":32000,
//      "totalBytes":3221225472,"freeBytes":2147483648,"limited":true,"filledBytes":2147483648}
// or, if a call of CUDA fails:
//     {"version":1,"error":"cuInit: CUDA_ERROR_NO_DEVICE (100): …"}
// A program in the container may have written anything in its place.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "domain/mps/mps_verdict.hpp"

namespace tessera {

inline constexpr int kMpsProbeVersion = 1;

// Errors: conflict with the call of CUDA that failed; invalid_argument for another text,
// unsupported for a newer version.
Result<MpsProbe> read_mps_probe(std::string_view text);

}  // namespace tessera
