// Base64 (RFC 4648) by OpenSSL.
#pragma once

#include <optional>
#include <string>

namespace tessera {

// Nothing when `text` is not base64 with its padding.
std::optional<std::string> decode_base64(const std::string& text);

}  // namespace tessera
