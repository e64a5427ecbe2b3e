#include "base/quantity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <limits>

namespace tessera {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Goal: every form of the grammar gives its number. Method: a table of text and value.
TEST(Quantity, ReadsEveryFormOfTheGrammar) {
    struct Case {
        std::string_view text;
        std::int64_t value;
    };
    const auto cases = std::to_array<Case>({
        {"0", 0},
        {"3", 3},
        {"+3", 3},
        {"007", 7},
        {"5.", 5},
        {"2000m", 2},
        {"0m", 0},
        {"1k", 1'000},
        {"1M", 1'000'000},
        {"10G", 10'000'000'000},
        {"1T", 1'000'000'000'000},
        {"1P", 1'000'000'000'000'000},
        {"1E", 1'000'000'000'000'000'000},
        {"1Ki", 1 << 10},
        {"1Mi", 1 << 20},
        {"3Gi", 3 * kGiB},
        {"1Ti", std::int64_t{1} << 40},
        {"1Pi", std::int64_t{1} << 50},
        {"7Ei", std::int64_t{7} << 60},
        {"0.5Gi", kGiB / 2},
        {".5Gi", kGiB / 2},
        {"1.50Gi", kGiB + kGiB / 2},
        {"1.5k", 1'500},
        {"1e3", 1'000},
        {"1E3", 1'000},
        {"1e+3", 1'000},
        {"1.25e2", 125},
        {"5000e-3", 5},
        {"0e30", 0},
        {"3.000", 3},
        {"9223372036854775807", kMost},
        {"9223372036854775.807k", kMost},
    });
    for (const Case& c : cases) {
        const auto value = parse_whole_quantity(c.text);
        ASSERT_TRUE(value) << c.text << ": " << value.error().text;
        EXPECT_EQ(*value, c.value) << c.text;
    }
}

// Goal: any other text is refused; the message quotes the text and says what is wrong. Method: a
// table of text and a part of the message. No case may give a number.
TEST(Quantity, RefusesEverythingElse) {
    struct Case {
        std::string_view text;
        std::string_view why;
    };
    const auto cases = std::to_array<Case>({
        {"", "is not a quantity"},
        {" ", "is not a quantity"},
        {" 3", "is not a quantity"},
        {"Gi", "is not a quantity"},
        {"abc", "is not a quantity"},
        {".", "is not a quantity"},
        {"+", "is not a quantity"},
        {"+-1", "is not a quantity"},
        {"NaN", "is not a quantity"},
        {"\xd9\xa3", "is not a quantity"},
        {"-1", "is negative"},
        {"-3Gi", "is negative"},
        {"--1", "is negative"},
        {"3 ", "unknown unit"},
        {"3 Gi", "unknown unit"},
        {"3gi", "unknown unit"},
        {"3GiB", "unknown unit"},
        {"3GB", "unknown unit"},
        {"3K", "unknown unit"},
        {"1.2.3", "unknown unit"},
        {"0x10", "unknown unit"},
        {"1_000", "unknown unit"},
        {"1,5", "unknown unit"},
        {"1e", "unknown unit"},
        {"1e+", "unknown unit"},
        {"1e+-3", "unknown unit"},
        {"1e31", "unknown unit"},
        {"1e3Gi", "unknown unit"},
        {"1Zi", "unknown unit"},
        {{"1\0", 2}, "unknown unit"},
        {"1.5", "is not a whole number"},
        {"1500m", "is not a whole number"},
        {"1m", "is not a whole number"},
        {"0.3Ki", "is not a whole number"},
        {"5e-1", "is not a whole number"},
        {"9223372036854775808", "is too large"},
        {"8Ei", "is too large"},
        {"10E", "is too large"},
        {"1e19", "is too large"},
        {"9999999999999999999Ei", "is too large"},
    });
    for (const Case& c : cases) {
        const auto value = parse_whole_quantity(c.text);
        ASSERT_FALSE(value) << c.text << " gives " << *value;
        EXPECT_EQ(value.error().code, Code::invalid_argument) << c.text;
        EXPECT_NE(value.error().text.find(c.why), std::string::npos) << value.error().text;
        EXPECT_TRUE(value.error().text.starts_with("\"" + std::string(c.text) + "\""))
            << value.error().text;
    }
}

// Goal: a text of any length cannot fill a log line, and a number of any length cannot wrap around.
TEST(Quantity, RefusesLongTextBriefly) {
    const auto digits = parse_whole_quantity(std::string(100'000, '9'));
    ASSERT_FALSE(digits);
    EXPECT_LT(digits.error().text.size(), 200U);
    const auto decimals = parse_whole_quantity("0." + std::string(100'000, '0') + "1");
    ASSERT_FALSE(decimals);
    EXPECT_LT(decimals.error().text.size(), 200U);
}

// Goal: thousandths, rounded up.
TEST(Quantity, InThousandths) {
    EXPECT_EQ(parse_milli_quantity("2").value(), 2'000);
    EXPECT_EQ(parse_milli_quantity("0.5").value(), 500);
    EXPECT_EQ(parse_milli_quantity("100m").value(), 100);
    EXPECT_EQ(parse_milli_quantity("1Ki").value(), 1'024'000);
    EXPECT_EQ(parse_milli_quantity("0.0001").value(), 1);
    EXPECT_EQ(parse_milli_quantity("1.5m").value(), 2);
    EXPECT_FALSE(parse_milli_quantity("9E"));
    EXPECT_FALSE(parse_milli_quantity("-1"));
}

// Goal: parse(print(n)) == n for every whole number. Method: random int64, bare and with a suffix.
RC_GTEST_PROP(QuantityProperty, PlainNumbersComeBack, ()) {
    const auto n = *rc::gen::inRange<std::int64_t>(0, kMost);
    RC_ASSERT(parse_whole_quantity(std::to_string(n)).value() == n);
}

// Goal: a suffix multiplies exactly, or the text is refused. Method: compare with 128-bit numbers.
RC_GTEST_PROP(QuantityProperty, SuffixMultipliesExactlyOrIsRefused, ()) {
    __extension__ using Wide = __int128;
    const auto suffix = *rc::gen::elementOf(std::vector<std::pair<std::string, std::int64_t>>{
        {"k", 1'000}, {"M", 1'000'000}, {"Ki", 1 << 10}, {"Gi", kGiB}, {"Ti", kGiB << 10}});
    const auto n = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40);
    const auto value = parse_whole_quantity(std::to_string(n) + suffix.first);
    const Wide exact = static_cast<Wide>(n) * suffix.second;
    if (exact > kMost) {
        RC_ASSERT(!value.has_value());
    } else {
        RC_ASSERT(value.value() == static_cast<std::int64_t>(exact));
    }
}

// Goal: an amount in a message is exact: it can be pasted into a manifest.
RC_GTEST_PROP(QuantityProperty, PrintedBytesComeBack, ()) {
    const auto n = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 50);
    const auto quarters = *rc::gen::inRange<std::int64_t>(0, 4096);
    RC_ASSERT(parse_whole_quantity(to_string(Bytes{n})).value() == n);
    const Bytes round{quarters * kGiB / 4};
    RC_ASSERT(parse_whole_quantity(to_string(round)).value() == round.count);
}

// Goal: amounts print in the largest unit that stays exact with two decimals. Method: a table.
TEST(Quantity, PrintsBytes) {
    EXPECT_EQ(to_string(Bytes{}), "0");
    EXPECT_EQ(to_string(Bytes{1023}), "1023");
    EXPECT_EQ(to_string(Bytes{1024}), "1Ki");
    EXPECT_EQ(to_string(mebibytes(500)), "500Mi");
    EXPECT_EQ(to_string(gibibytes(16)), "16Gi");
    EXPECT_EQ(to_string(Bytes{kGiB * 5 / 2}), "2.5Gi");
    EXPECT_EQ(to_string(Bytes{kGiB * 5 / 4}), "1.25Gi");
    EXPECT_EQ(to_string(Bytes{kGiB + kMiB}), "1025Mi");
    EXPECT_EQ(to_string(gibibytes(2048)), "2Ti");
    EXPECT_EQ(to_string(Bytes{kGiB + 1}), "1073741825");
    EXPECT_EQ(to_string(Bytes{-5}), "-5");
}

// Goal: a text for people has no long row of digits, whatever the amount is, and two amounts read
// as they compare: what is free is rounded down, what is requested is rounded up.
TEST(Quantity, PrintsBytesForPeople) {
    struct Case {
        std::int64_t bytes;
        const char* down;
        const char* up;
    };
    for (const Case& c : std::vector<Case>{{0, "0", "0"},
                                           {-5, "-5", "-5"},
                                           {kMiB - 1, "1048575", "1048575"},
                                           {kMiB, "1Mi", "1Mi"},
                                           {kMiB + 1, "1Mi", "2Mi"},
                                           {5'590'000'000, "5331Mi", "5332Mi"},
                                           {kGiB * 5 / 2, "2.5Gi", "2.5Gi"},
                                           {kGiB * 5 / 2 - 1, "2559Mi", "2.5Gi"},
                                           {std::numeric_limits<std::int64_t>::max(),
                                            "8796093022207Mi", "9223372036854775807"}}) {
        EXPECT_EQ(rounded_down(Bytes{c.bytes}), c.down);
        EXPECT_EQ(rounded_up(Bytes{c.bytes}), c.up);
    }
}

}  // namespace
}  // namespace tessera
