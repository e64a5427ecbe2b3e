// What `tessera doctor` prints.
#pragma once

#include <span>
#include <string>

#include "domain/doctor/checks.hpp"

namespace tessera {

// One line per check: status, name, what was found, and the fix behind "->".
std::string doctor_text(std::span<const doctor::Finding> findings);
// {"version":1,"status":…,"checks":[{"check","status","found","fix"}]}; status is the worst.
std::string doctor_json(std::span<const doctor::Finding> findings);
// 1 when a check failed.
int doctor_exit_status(std::span<const doctor::Finding> findings);

}  // namespace tessera
