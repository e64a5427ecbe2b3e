// The files by which tessera-agent and tessera-mps agree about the control daemon of one GPU
// (docs/formats/mps-folder.md).
//
// wanted.json, of the agent:
//     {"version":1,"threadsPercent":50,"memoryBytes":3221225472}
// reported.json, of the agent for itself:
//     {"version":1,"pid":4711,"faultUnixNs":…,"serversLost":0,"faults":[{"pod":"UID","count":2}]}
// CONTAINER.json, of the agent for itself:
//     {"version":1,"gpu":"GPU-…","threadsPercent":25,"memoryBytes":3221225472,"userId":1000,
//      "namespace":"default","name":"serve"}
// state.json, of tessera-mps:
//     {"version":1,"gpu":"GPU-…","phase":"ready","pid":4711,"threadsPercent":50,"memoryBytes":
//      3221225472,"protectsSettings":true,"servers":[{"pid":4712,"clients":[{"pid":5000,"pod":
//      "UID"}]}],"faults":[{"pid":5000,"pod":"UID","unixNs":…}],"serversLost":0,"failures":0,
//      "checkedUnixNs":…}
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/mps/mps_grant.hpp"
#include "domain/mps/mps_state.hpp"

namespace tessera {

inline constexpr int kMpsFolderVersion = 1;
// The longest of these files that is read; those that are written are shorter.
inline constexpr std::size_t kMostMpsFileBytes = std::size_t{16} << 10;

std::string_view mps_phase_name(MpsPhase phase);

std::string write_mps_settings(const MpsSettings& settings);
std::string write_mps_state(const MpsState& state);
// The pod and the container are in the path of the file.
std::string write_mps_grant(const MpsGrant& grant);
// The error names the field: invalid_argument for broken text, unsupported for a newer version.
Result<MpsSettings> read_mps_settings(std::string_view text);
Result<MpsState> read_mps_state(std::string_view text);
std::string write_mps_reported(const MpsReported& reported);
Result<MpsReported> read_mps_reported(std::string_view text);
// Without the pod and the container.
Result<MpsGrant> read_mps_grant(std::string_view text);

}  // namespace tessera
