// The error for a flag of the command line.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/result.hpp"

namespace tessera::workload {

// invalid_argument: "FLAG: WHAT", for example "--port: is 0".
inline tl::unexpected<Error> refuse(std::string_view flag, std::string_view what) {
    return fail(Code::invalid_argument, fmt::format("{}: {}", flag, what));
}

}  // namespace tessera::workload
