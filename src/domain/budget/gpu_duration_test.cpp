#include "domain/budget/gpu_duration.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Goal: every form of the grammar gives its amount, and the amount prints in its shortest form.
TEST(GpuDuration, ReadsEveryFormOfTheGrammar) {
    struct Case {
        std::string_view text;
        GpuDuration value;
        std::string_view printed;
    };
    for (const Case& c : std::vector<Case>{
             {"0s", {}, "0s"},
             {"0h0m0s", {}, "0s"},
             {"0.000s", {}, "0s"},
             {"1s", gpu_seconds(1), "1s"},
             {"150m", gpu_hours(2) + gpu_seconds(1800), "2h30m"},
             {"20h", gpu_hours(20), "20h"},
             {"1h30m", gpu_seconds(5400), "1h30m"},
             {"2d", gpu_hours(48), "48h"},
             {"1d2h3m4.5s", gpu_hours(26) + GpuDuration{184'500'000'000}, "26h3m4.5s"},
             {"1h1s", gpu_seconds(3601), "1h1s"},
             {"007h", gpu_hours(7), "7h"},
             {"0.25s", {250'000'000}, "0.25s"},
             {"0.000000001s", {1}, "0.000000001s"},
             {"90.000000010s", {90'000'000'010}, "1m30.00000001s"},
             {"1000000000h", gpu_hours(kMostGpuHours), "1000000000h"},
             {"3600000000000s", gpu_hours(kMostGpuHours), "1000000000h"}}) {
        const auto value = parse_gpu_duration(c.text);
        ASSERT_TRUE(value) << c.text << ": " << value.error().text;
        EXPECT_TRUE(*value == c.value) << c.text;
        EXPECT_EQ(to_string(*value), c.printed);
    }
}

// Goal: any other text is refused; the message quotes the text and says what to write.
TEST(GpuDuration, RefusesEverythingElse) {
    struct Case {
        std::string_view text;
        std::string_view why;
    };
    for (const Case& c :
         std::vector<Case>{{"", "is no duration; write such as 150m"},
                           {" ", "is no duration"},
                           {"h", "is no duration"},
                           {" 1h", "is no duration"},
                           {"+1h", "is no duration"},
                           {"NaN", "is no duration"},
                           {"inf", "is no duration"},
                           {".5s", "is no duration"},
                           {"1.s", "is no duration"},
                           {"1ms", "is no duration"},
                           {"1hh", "is no duration"},
                           {"-1h", "is negative; write a positive amount"},
                           {"-0s", "is negative"},
                           {"150", "ends without a unit"},
                           {"1h30", "ends without a unit"},
                           {"1.5", "ends without a unit"},
                           {"1.5h", "has decimals; write whole numbers"},
                           {"0.5d", "has decimals"},
                           {"30m1h", "has its units in another order"},
                           {"1h1h", "has its units in another order"},
                           {"1s1s", "has its units in another order"},
                           {"1H", "has an unknown unit; use d, h, m or s"},
                           {"1w", "has an unknown unit"},
                           {"1h 30m", "is no duration"},
                           {"1 h", "has an unknown unit"},
                           {"1e3s", "has an unknown unit"},
                           {"1,5s", "has an unknown unit"},
                           {"1_0s", "has an unknown unit"},
                           {{"1\0s", 3}, "has an unknown unit"},
                           {"1.0000000001s", "has more than nine decimals"},
                           {"1000000000h1s", "is too large; write at most 1000000000h"},
                           {"1000000000h0.000000001s", "is too large"},
                           {"99999999999999999999h", "is too large"}}) {
        const auto value = parse_gpu_duration(c.text);
        ASSERT_FALSE(value) << c.text << " gives " << to_string(*value);
        EXPECT_EQ(value.error().code, Code::invalid_argument) << c.text;
        EXPECT_NE(value.error().text.find(c.why), std::string::npos) << value.error().text;
        EXPECT_TRUE(value.error().text.starts_with("\"" + std::string(c.text) + "\""))
            << value.error().text;
    }
    const auto digits = parse_gpu_duration(std::string(100'000, '9') + "s");
    ASSERT_FALSE(digits);
    EXPECT_LT(digits.error().text.size(), 200U);
}

// Goal: what a budget prints can be written into a budget: no amount changes on the way.
RC_GTEST_PROP(GpuDurationProperty, PrintedAmountsComeBack, ()) {
    const auto seconds = *rc::gen::inRange<std::int64_t>(0, kMostGpuHours * 3600);
    const auto nanos = *rc::gen::elementOf(std::vector<int>{0, 1, 10, 250'000'000, 999'999'999});
    const GpuDuration amount = gpu_seconds(seconds) + GpuDuration{nanos};
    RC_ASSERT(parse_gpu_duration(to_string(amount)).value() == amount);
    RC_ASSERT(to_string(GpuDuration{} - amount) ==
              (amount == GpuDuration{} ? "" : "-") + to_string(amount));
}

// Goal: a balance is an amount that a budget grants, or a debt that needs 128 bits.
TEST(GpuDuration, ReadsBalances) {
    EXPECT_TRUE(parse_gpu_balance("1h30m").value() == gpu_seconds(5400));
    EXPECT_TRUE(parse_gpu_balance("-1h30m").value() == gpu_seconds(-5400));
    EXPECT_TRUE(parse_gpu_balance("-0s").value() == GpuDuration{});
    EXPECT_EQ(to_string(GpuDuration{} - kMostDebt), "-23630719925065171073845458h50m57.942052864s");
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string_view>>{
             {"", "is no duration"},
             {"-", "is no duration"},
             {"--1h", "is no duration"},
             {"-1", "ends without a unit"},
             {"1000000000h1s", "is too large; write at most 1000000000h"},
             {"-23630719925065171073845458h50m57.942052865s",
              "is too large; write at most 23630719925065171073845458h"},
             {"-99999999999999999999999999999999999999d", "is too large"},
             {"-0d0h0m99999999999999999999999999999999999999s", "is too large"},
             {"-" + std::string(100'000, '9') + "s", "is too large"}}) {
        const auto balance = parse_gpu_balance(text);
        ASSERT_FALSE(balance) << text;
        EXPECT_NE(balance.error().text.find(why), std::string::npos) << balance.error().text;
        EXPECT_LT(balance.error().text.size(), 200U);
    }
}

// Goal: every balance that a budget can have survives as text, to the nanosecond.
RC_GTEST_PROP(GpuDurationProperty, PrintedBalancesComeBack, ()) {
    GpuDuration debt = kMostDebt;
    debt.nanos -= *rc::gen::arbitrary<std::uint32_t>();
    debt.nanos >>= *rc::gen::inRange(0, 127);
    const GpuDuration balance = GpuDuration{} - debt;
    RC_ASSERT(parse_gpu_balance(to_string(balance)).value() == balance);
    const GpuDuration left = gpu_seconds(*rc::gen::inRange<std::int64_t>(0, kMostGpuHours * 3600));
    RC_ASSERT(parse_gpu_balance(to_string(left)).value() == left);
}

// Goal: a report shows GPU-hours with three decimals, and never "-0.000".
TEST(GpuDuration, PrintsGpuHours) {
    EXPECT_EQ(gpu_hours_text({}), "0.000");
    EXPECT_EQ(gpu_hours_text(gpu_hours(1)), "1.000");
    EXPECT_EQ(gpu_hours_text(gpu_seconds(5400)), "1.500");
    EXPECT_EQ(gpu_hours_text(gpu_seconds(-5400)), "-1.500");
    EXPECT_EQ(gpu_hours_text({1'799'999'999}), "0.000");
    EXPECT_EQ(gpu_hours_text({-1'799'999'999}), "0.000");
    EXPECT_EQ(gpu_hours_text({1'800'000'000}), "0.001");
    EXPECT_EQ(gpu_hours_text({-1'800'000'000}), "-0.001");
    EXPECT_EQ(gpu_hours_text(gpu_hours(8'000LL * 24 * 366)), "70272000.000");
}

}  // namespace
}  // namespace tessera
