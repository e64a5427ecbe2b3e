// HMAC-SHA-256 (RFC 2104) of a text, by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);

}  // namespace tessera
