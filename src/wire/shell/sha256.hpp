// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), as 32 bytes. They are here because
// tessera-mpi-shell runs in images of users as one static file: OpenSSL would read the
// configuration of the image, and load what it names.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

inline constexpr std::size_t kSha256Bytes = 32;

std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// Takes as long for every pair of texts of one length, so that its time says nothing of them.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace tessera
