// Judges what was read of a cluster: one finding per check, in the order of checks.def. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/doctor/facts.hpp"

namespace tessera::doctor {

enum class Status { ok, skipped, warning, failed };  // ascending severity
std::string_view status_name(Status status);

struct Finding {
    std::string_view check;  // a name of checks.def
    Status status = Status::ok;
    std::string found;  // one line
    std::string fix;    // empty if there is nothing to do

    friend bool operator==(const Finding&, const Finding&) = default;
};

std::vector<Finding> examine(const Facts& facts);

}  // namespace tessera::doctor
