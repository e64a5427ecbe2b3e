// The lease of `tessera run`, in the file `lease` of a run's folder (docs/formats/runs.md), and the
// list of runs.
//
//     {"version":1,"gpu":"GPU-…","gpuIndex":0,"memoryBytes":4294967296,"coresPercent":30,
//      "coresLimitPercent":100,"pid":4711,"startTicks":99,"startedUnixNs":…,"command":"python
//      a.py"}
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/run/run_lease.hpp"

namespace tessera {

inline constexpr int kRunLeaseVersion = 1;
// The longest lease that is read; those that are written are shorter.
inline constexpr std::size_t kMostLeaseBytes = std::size_t{16} << 10;

std::string write_run_lease(const RunLease& lease);
// The error names the field: invalid_argument for broken text, unsupported for a newer version.
Result<RunLease> read_run_lease(std::string_view text);

// A command line as a lease has it: UTF-8 without control characters, cut after some 200 bytes.
std::string command_text(std::string_view words);

// What `tessera run --list -o json` prints: {"version":1,"runs":[…]}.
std::string write_run_list(std::span<const LiveRun> runs);

}  // namespace tessera
