// Goal: our SHA-256 and HMAC are those of the standards, and of OpenSSL for any text.
#include "wire/shell/sha256.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <random>

namespace tessera {
namespace {

std::string hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
    return out;
}

TEST(Sha256, Standards) {
    // FIPS 180-4's examples, and RFC 4231, test cases 2 and 6.
    EXPECT_EQ(hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                              "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Sha256, AsOpenSsl) {
    std::mt19937 random(7);
    for (std::size_t size = 0; size < 300; ++size) {
        std::string text(size, '\0');
        for (char& c : text)
            c = static_cast<char>(random());
        const std::string key = text.substr(0, size / 2);
        std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
        unsigned length = 0;
        ASSERT_NE(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                         mac.data(), &length),
                  nullptr);
        const std::string expected(reinterpret_cast<const char*>(mac.data()), length);
        ASSERT_EQ(hex(hmac_sha256(key, text)), hex(expected)) << size;
    }
}

TEST(Sha256, Equality) {
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

}  // namespace
}  // namespace tessera
