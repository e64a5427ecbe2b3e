#include "wire/tessera/allocation_seal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/builders/builders.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {
namespace {

std::string hex_key(char digit, std::size_t bytes = 32) {
    return std::string(2 * bytes, digit);
}

AllocationSeal seal_of(const std::string& keys) {
    auto seal = AllocationSeal::from_keys(keys);
    EXPECT_TRUE(seal) << seal.error().text;
    return *std::move(seal);
}

// Goal: the signature follows the standard. Method: a value that `openssl dgst -mac HMAC` computed;
// the keys of RFC 4231's test cases are too short or too long for a key file.
TEST(AllocationSeal, IsHmacSha256) {
    const AllocationSeal seal = seal_of(hex_key('0'));
    EXPECT_EQ(seal.sign("what do ya want for nothing?"),
              "76d9e7194e7dbc3aa00bbe8ffb9f6fcb5a932170f971f948bb2ab61607d2b9d6");
}

// Goal: a seal accepts only what it signed: no other key, no other text, no altered signature.
RC_GTEST_PROP(AllocationSealProperty, BelievesOnlyItsOwn, (const std::string& text)) {
    const AllocationSeal ours = seal_of(hex_key('a'));
    const AllocationSeal other = seal_of(hex_key('b'));
    std::string mac = ours.sign(text);
    RC_ASSERT(ours.is_ours(text, mac));
    RC_ASSERT(!other.is_ours(text, mac));
    RC_ASSERT(!ours.is_ours(text + " ", mac));
    RC_ASSERT(!ours.is_ours(text, mac.substr(1)));
    RC_ASSERT(!ours.is_ours(text, ""));
    const auto at = *rc::gen::inRange<std::size_t>(0, mac.size());
    mac[at] = mac[at] == '0' ? '1' : '0';
    RC_ASSERT(!ours.is_ours(text, mac));
}

// Goal: a key can be replaced without a pause: during the change each side accepts the other.
TEST(AllocationSeal, KeysChange) {
    const AllocationSeal old = seal_of(hex_key('1'));
    const AllocationSeal both = seal_of("# new first\n" + hex_key('2') + "\n\n" + hex_key('1'));
    const AllocationSeal fresh = seal_of(hex_key('2') + "\r\n");
    EXPECT_TRUE(both.is_ours("x", old.sign("x")));
    EXPECT_TRUE(both.is_ours("x", fresh.sign("x")));
    EXPECT_EQ(both.sign("x"), fresh.sign("x"));
    EXPECT_FALSE(old.is_ours("x", both.sign("x")));
}

// Goal: an invalid key file is refused with the line and the command that makes a key; the error
// never shows the key. Method: a table of files and what the error names.
TEST(AllocationSeal, BadKeyFiles) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "holds no key"},
        {"\n# only a comment\n", "holds no key"},
        {"swordfish", "line 1"},
        {hex_key('a', 31), "line 1"},
        {hex_key('a', 129), "line 1"},
        {hex_key('a') + "0", "line 1"},
        {hex_key('a') + "\n" + std::string(64, 'g'), "line 2"},
        {"+" + hex_key('a').substr(1), "line 1"},
        {hex_key('1') + "\n" + hex_key('2') + "\n" + hex_key('3') + "\n" + hex_key('4') + "\n" +
             hex_key('5'),
         "line 5: more than 4 keys"},
    };
    for (const auto& [text, expected] : cases) {
        const auto seal = AllocationSeal::from_keys(text);
        ASSERT_FALSE(seal) << text;
        EXPECT_EQ(seal.error().code, Code::invalid_argument);
        EXPECT_NE(seal.error().text.find(expected), std::string::npos) << seal.error().text;
        EXPECT_EQ(seal.error().text.find("swordfish"), std::string::npos);
    }
}

// Goal: with a seal only text that it signed is read, and the error says what to do; without one
// the signature is ignored. Signed text that cannot be read has an error of its own.
TEST(ReadSealedAllocation, SignedOnly) {
    const AllocationSeal seal = seal_of(hex_key('a'));
    const PodInfo pod = build::pod("p", build::aliyun(3));
    const std::string text = write_allocation(
        build::allocation(pod, "n1", {{GpuUuid("GPU-0"), 0, gibibytes(3), {}, false}}));
    EXPECT_TRUE(read_sealed_allocation(text, seal.sign(text), &seal));
    EXPECT_TRUE(read_sealed_allocation(text, std::nullopt, nullptr));
    EXPECT_TRUE(read_sealed_allocation(text, "anything", nullptr));

    const auto missing = read_sealed_allocation(text, std::nullopt, &seal);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::permission_denied);
    EXPECT_NE(missing.error().text.find("tessera.dev/allocation-mac is missing"),
              std::string::npos);
    const auto wrong = read_sealed_allocation(text, seal.sign("another"), &seal);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Code::permission_denied);
    EXPECT_NE(wrong.error().text.find("does not match"), std::string::npos);
    EXPECT_EQ(read_sealed_allocation("{}", seal.sign("{}"), &seal).error().code,
              Code::invalid_argument);
}

}  // namespace
}  // namespace tessera
