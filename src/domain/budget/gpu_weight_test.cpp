#include "domain/budget/gpu_weight.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Goal: every form of the grammar gives its weight, exactly, and the weight prints back.
TEST(GpuWeight, ReadsEveryFormOfTheGrammar) {
    struct Case {
        std::string_view text;
        std::int64_t millionths;
        std::string_view printed;
    };
    for (const Case& c : std::vector<Case>{{"1", 1'000'000, "1"},
                                           {"2", 2'000'000, "2"},
                                           {"0.5", 500'000, "0.5"},
                                           {"1.250", 1'250'000, "1.25"},
                                           {"0.000001", 1, "0.000001"},
                                           {"007", 7'000'000, "7"},
                                           {"1000", 1'000'000'000, "1000"},
                                           {"999.999999", 999'999'999, "999.999999"}}) {
        const auto weight = parse_gpu_weight(c.text);
        ASSERT_TRUE(weight) << c.text << ": " << weight.error().text;
        EXPECT_EQ(weight->millionths, c.millionths) << c.text;
        EXPECT_EQ(to_string(*weight), c.printed);
    }
}

// Goal: a factor that kubernetes-gpusharing accepted and that changed other budgets is refused:
// zero, negative, NaN, huge. The message says what to write.
TEST(GpuWeight, RefusesEverythingElse) {
    struct Case {
        std::string_view text;
        std::string_view why;
    };
    for (const Case& c : std::vector<Case>{{"", "is not a decimal number; write such as 2 or 0.5"},
                                           {".5", "is not a decimal number"},
                                           {"1.", "is not a decimal number"},
                                           {".", "is not a decimal number"},
                                           {"1.2.3", "is not a decimal number"},
                                           {"NaN", "is not a decimal number"},
                                           {"inf", "is not a decimal number"},
                                           {"1e3", "is not a decimal number"},
                                           {"+1", "is not a decimal number"},
                                           {" 1", "is not a decimal number"},
                                           {"1x", "is not a decimal number"},
                                           {"0x1", "is not a decimal number"},
                                           {"1,5", "is not a decimal number"},
                                           {{"1\0", 2}, "is not a decimal number"},
                                           {"-1", "is negative; write a number above 0"},
                                           {"-0", "is negative"},
                                           {"0", "is zero; write a number above 0"},
                                           {"0.000000", "is zero"},
                                           {"0.0000001", "has more than six decimals; round it"},
                                           {"1000.000001", "is too large; write at most 1000"},
                                           {"99999", "is too large"},
                                           {"9999999999999999999999", "is too large"}}) {
        const auto weight = parse_gpu_weight(c.text);
        ASSERT_FALSE(weight) << c.text;
        EXPECT_EQ(weight.error().code, Code::invalid_argument) << c.text;
        EXPECT_NE(weight.error().text.find(c.why), std::string::npos) << weight.error().text;
    }
}

// Goal: no weight changes on the way through text.
RC_GTEST_PROP(GpuWeightProperty, PrintedWeightsComeBack, ()) {
    const GpuWeight weight{*rc::gen::inRange(kLeastWeight.millionths, kMostWeight.millionths + 1)};
    RC_ASSERT(parse_gpu_weight(to_string(weight)).value() == weight);
}

}  // namespace
}  // namespace tessera
