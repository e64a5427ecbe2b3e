#include "wire/text/hmac_sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.hpp"

namespace tessera {

std::string hmac_sha256(std::string_view key, std::string_view text) {
    std::array<char, EVP_MAX_MD_SIZE> mac{};
    unsigned size = 0;
    const auto* made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                              reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              reinterpret_cast<unsigned char*>(mac.data()), &size);
    TESSERA_CHECK(made != nullptr, "HMAC-SHA256 is there");
    return {mac.data(), size};
}

}  // namespace tessera
