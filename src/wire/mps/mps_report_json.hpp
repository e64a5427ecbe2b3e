// The answer of an agent to GET /mps:
//     {"version":1,"node":"node-a","offered":true,"supervised":true,"gpus":[{<as state.json>,
//      "multiprocessors":132,"containers":[{"pod":"UID","container":"main",<as CONTAINER.json>}]}]}
// Of a GPU whose number of multiprocessors is not known, that member is missing.
// The answer to GET /mps/logs/GPU-UUID:
//     {"version":1,"node":"node-a","logs":[{"name":"daemon.log","text":"[…] Starting new server
//     …"}]}
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/mps/mps_report.hpp"

namespace tessera {

inline constexpr int kMpsReportVersion = 1;

std::string write_mps_report(const MpsReport& report);
// invalid_argument for broken text, unsupported for a newer version.
Result<MpsReport> read_mps_report(std::string_view text);

std::string write_mps_logs(const MpsLogs& logs);
// Errors as above.
Result<MpsLogs> read_mps_logs(std::string_view text);

}  // namespace tessera
