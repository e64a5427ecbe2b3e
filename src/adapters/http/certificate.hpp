// When a certificate ends.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace tessera {

// Of the first certificate of a PEM text, in seconds since 1970. corrupt when there is none.
Result<std::int64_t> certificate_end(const std::string& pem);

}  // namespace tessera
