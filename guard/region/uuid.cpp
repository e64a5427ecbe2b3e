#include "guard/region/uuid.hpp"

#include <cstddef>
#include <cstring>

namespace tessera::guard {
namespace {

int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return -1;
}

}  // namespace

bool read_uuid(const char* text, std::uint8_t (&uuid)[16]) {
    if (std::strncmp(text, "GPU-", 4) != 0) return false;
    text += 4;
    for (std::size_t i = 0; i < sizeof uuid; i++) {
        const bool is_after_dash = i == 4 || i == 6 || i == 8 || i == 10;
        if (is_after_dash && *text++ != '-') return false;
        const int high = digit_of(text[0]);
        const int low = high < 0 ? -1 : digit_of(text[1]);
        if (low < 0) return false;
        uuid[i] = static_cast<std::uint8_t>(high * 16 + low);
        text += 2;
    }
    return *text == '\0';
}

void write_uuid(const std::uint8_t (&uuid)[16], char (&text)[kUuidText + 1]) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::memcpy(text, "GPU-", 4);
    char* at = text + 4;
    for (std::size_t i = 0; i < sizeof uuid; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
        *at++ = kDigits[uuid[i] / 16];
        *at++ = kDigits[uuid[i] % 16];
    }
    *at = '\0';
}

}  // namespace tessera::guard
