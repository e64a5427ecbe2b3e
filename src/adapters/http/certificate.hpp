// When a certificate expires.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace tessera {

// The end of the first certificate in a PEM text, in seconds since 1970. corrupt if there is none.
Result<std::int64_t> certificate_end(const std::string& pem);

}  // namespace tessera
