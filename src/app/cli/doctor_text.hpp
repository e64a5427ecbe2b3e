// The output of `tessera doctor`.
#pragma once

#include <span>
#include <string>

#include "domain/doctor/checks.hpp"

namespace tessera {

// One line per check: status, name, finding, and the fix after "->".
std::string doctor_text(std::span<const doctor::Finding> findings);
// {"version":1,"status":…,"checks":[{"check","status","found","fix"}]}; "status" is the worst one.
std::string doctor_json(std::span<const doctor::Finding> findings);
// 1 if a check failed, otherwise 0.
int doctor_exit_status(std::span<const doctor::Finding> findings);

}  // namespace tessera
