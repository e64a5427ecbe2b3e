// Base64 (RFC 4648) by OpenSSL.
#pragma once

#include <optional>
#include <string>

namespace tessera {

// Nothing if `text` is not base64 with padding.
std::optional<std::string> decode_base64(const std::string& text);

std::string encode_base64(const std::string& bytes);

}  // namespace tessera
