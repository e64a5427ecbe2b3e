#include "wire/tessera/allocation_seal.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>

#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/text/hmac_sha256.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostKeys = 4;
constexpr std::size_t kShortestKey = 32;  // length of the hash: RFC 2104 §3
constexpr std::size_t kLongestKey = 128;

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::optional<std::string> from_hex(std::string_view digits) {
    if (digits.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        unsigned value = 0;
        const char* end = digits.data() + i + 2;
        const auto read = std::from_chars(digits.data() + i, end, value, 16);
        if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
        bytes += static_cast<char>(value);
    }
    return bytes;
}

std::string mac_of(const std::string& key, std::string_view text) {
    std::string hex;
    for (const char byte : hmac_sha256(key, text))
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return hex;
}

}  // namespace

Result<AllocationSeal> AllocationSeal::from_keys(std::string_view text) {
    AllocationSeal seal;
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        auto key = from_hex(line);
        if (!key || key->size() < kShortestKey || key->size() > kLongestKey) {
            return fail(Code::invalid_argument,
                        fmt::format("line {}: is not a key of {} to {} bytes in hexadecimal; make "
                                    "one with: openssl rand -hex 32",
                                    number, kShortestKey, kLongestKey));
        }
        if (seal.keys_.size() == kMostKeys) {
            return fail(
                Code::invalid_argument,
                fmt::format("line {}: more than {} keys; remove the oldest", number, kMostKeys));
        }
        seal.keys_.push_back(*std::move(key));
    }
    if (!seal.keys_.empty()) return seal;
    return fail(Code::invalid_argument, "holds no key; make one with: openssl rand -hex 32");
}

std::string AllocationSeal::sign(std::string_view allocation) const {
    return mac_of(keys_.front(), allocation);
}

bool AllocationSeal::is_ours(std::string_view allocation, std::string_view mac) const {
    return std::ranges::any_of(keys_, [&](const std::string& key) {
        const std::string right = mac_of(key, allocation);
        return right.size() == mac.size() &&
               ::CRYPTO_memcmp(right.data(), mac.data(), mac.size()) == 0;
    });
}

Result<Allocation> read_sealed_allocation(std::string_view allocation,
                                          std::optional<std::string_view> mac,
                                          const AllocationSeal* seal, const Dialects& dialects) {
    if (seal != nullptr && !seal->is_ours(allocation, mac.value_or(""))) {
        return fail(
            Code::permission_denied,
            fmt::format("allocation: {} {}: Tessera's controller did not write it; delete "
                        "the pod, and leave the annotations to Tessera",
                        key::kAllocationMac, mac ? "does not match the annotation" : "is missing"));
    }
    return read_allocation(allocation, dialects);
}

}  // namespace tessera
