#include "wire/text/base64.hpp"

#include <openssl/evp.h>

namespace tessera {

std::optional<std::string> decode_base64(const std::string& text) {
    std::string out(text.size() / 4 * 3 + 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0) return std::nullopt;
    // The decoder counts padding as bytes.
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    out.resize(static_cast<std::size_t>(size) - padding);
    return out;
}

std::string encode_base64(const std::string& bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and the encoder's final zero
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

}  // namespace tessera
