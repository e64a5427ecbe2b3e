#include "wire/shell/sha256.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera {
namespace {

constexpr std::size_t kBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (§4.2.2).
constexpr std::array<std::uint32_t, kBlock> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

// The same of the square roots of the first 8 primes (§5.3.3).
constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t byte_of(std::string_view block, std::size_t position) {
    return static_cast<unsigned char>(block[position]);
}

// §6.2.2; `block` has 64 bytes.
void add_block(State& state, std::string_view block) {
    std::array<std::uint32_t, kBlock> w{};
    for (std::size_t t = 0; t < 16; ++t) {
        w.at(t) = byte_of(block, 4 * t) << 24 | byte_of(block, 4 * t + 1) << 16 |
                  byte_of(block, 4 * t + 2) << 8 | byte_of(block, 4 * t + 3);
    }
    for (std::size_t t = 16; t < kBlock; ++t) {
        const std::uint32_t a = w.at(t - 15);
        const std::uint32_t b = w.at(t - 2);
        const std::uint32_t sigma0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3;
        const std::uint32_t sigma1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10;
        w.at(t) = sigma1 + w.at(t - 7) + sigma0 + w.at(t - 16);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < kBlock; ++t) {
        const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t choice = (e & f) ^ (~e & g);
        const std::uint32_t first = h + sum1 + choice + kRounds.at(t) + w.at(t);
        const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + sum0 + majority;
    }
    const State sums = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < sums.size(); ++i)
        state.at(i) += sums.at(i);
}

std::string xored(std::string text, unsigned char with) {
    for (char& c : text)
        c = static_cast<char>(static_cast<unsigned char>(c) ^ with);
    return text;
}

}  // namespace

std::string sha256(std::string_view text) {
    State state = kStart;
    std::string_view rest = text;
    for (; rest.size() >= kBlock; rest.remove_prefix(kBlock))
        add_block(state, rest.substr(0, kBlock));
    // The end, a 1 bit, zeros, and the length in bits (§5.1.1).
    std::string tail(rest);
    tail += '\x80';
    while (tail.size() % kBlock != kBlock - 8)
        tail += '\0';
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8)
        tail += static_cast<char>(bits >> shift & 0xff);
    for (std::size_t at = 0; at < tail.size(); at += kBlock)
        add_block(state, std::string_view(tail).substr(at, kBlock));
    std::string out;
    for (const std::uint32_t word : state) {
        for (int shift = 24; shift >= 0; shift -= 8)
            out += static_cast<char>(word >> shift & 0xff);
    }
    return out;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
    std::string padded = key.size() > kBlock ? sha256(key) : std::string(key);
    padded.resize(kBlock, '\0');
    std::string inner = xored(padded, 0x36);
    inner += text;
    return sha256(xored(padded, 0x5c) + sha256(inner));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= byte_of(a, i) ^ byte_of(b, i);
    return difference == 0;
}

}  // namespace tessera
