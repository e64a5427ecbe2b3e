#include "domain/budget/budget_spec.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Goal: a spec with only its GPU time has the documented defaults.
TEST(BudgetSpec, HasDefaults) {
    const auto spec = parse_budget({.gpu_time = "20h"});
    ASSERT_TRUE(spec) << spec.error().text;
    BudgetSpec expected;
    expected.gpu_time = gpu_hours(20);
    EXPECT_TRUE(*spec == expected);
    EXPECT_EQ(spec->rule.basis, ChargeBasis::larger);
    EXPECT_EQ(spec->period.kind, PeriodKind::monthly);
    EXPECT_EQ(spec->period.time_zone, "UTC");
    EXPECT_TRUE(spec->carry_over == GpuDuration{});
    EXPECT_EQ(spec->when_spent, WhenSpent::lower_priority);
}

// Goal: each field arrives where it belongs.
TEST(BudgetSpec, ReadsEveryField) {
    const auto calendar = parse_budget({.gpu_time = "150m",
                                        .counts = "mean",
                                        .model_weights = {{"A100", "2"}, {"Tesla T4", "0.5"}},
                                        .period = "weekly",
                                        .time_zone = "Europe/Berlin",
                                        .carry_over = "10h",
                                        .when_spent = "suspend"});
    ASSERT_TRUE(calendar) << calendar.error().text;
    BudgetSpec const expected{.gpu_time = gpu_seconds(9000),
                              .rule = {.basis = ChargeBasis::mean,
                                       .weights = {{"A100", {2'000'000}}, {"Tesla T4", {500'000}}}},
                              .period = {.kind = PeriodKind::weekly, .time_zone = "Europe/Berlin"},
                              .carry_over = gpu_hours(10),
                              .when_spent = WhenSpent::suspend};
    EXPECT_TRUE(*calendar == expected);
    const auto sliding = parse_budget(
        {.gpu_time = "1h", .period = "sliding", .sliding_window = "1d", .when_spent = "none"});
    ASSERT_TRUE(sliding) << sliding.error().text;
    EXPECT_EQ(sliding->period.sliding_s, 86'400);
}

// Goal: each bad value is refused, by an error that names the field and the fix: missing, zero,
// negative, NaN and huge values; values that have no effect. Method: a table.
TEST(BudgetSpec, RefusesBadFields) {
    struct Case {
        BudgetFields fields;
        std::string_view error;
    };
    const auto hours = [](BudgetFields fields) {
        fields.gpu_time = "1h";
        return fields;
    };
    std::map<std::string, std::string> many;
    for (int i = 0; i < 65; ++i)
        many.emplace("M" + std::to_string(i), "1");
    for (const Case& c : std::vector<Case>{
             {{}, "spec.gpuTime: is missing; write GPU time such as 20h"},
             {{.gpu_time = "0h"}, "spec.gpuTime: \"0h\" is zero; write a positive amount"},
             {{.gpu_time = "-1h"}, "spec.gpuTime: \"-1h\" is negative; write a positive amount"},
             {{.gpu_time = "NaN"}, "spec.gpuTime: \"NaN\" is no duration; write such as"},
             {{.gpu_time = "20"}, "spec.gpuTime: \"20\" ends without a unit; write d, h, m or s"},
             {{.gpu_time = "9999999999h"}, "spec.gpuTime: \"9999999999h\" is too large"},
             {hours({.counts = "both"}), "spec.counts: \"both\" is unknown; write memory"},
             {hours({.model_weights = {{"A100", "0"}}}),
              "spec.modelWeights[\"A100\"]: \"0\" is zero; write a number above 0"},
             {hours({.model_weights = {{"A100", "-2"}}}), "[\"A100\"]: \"-2\" is negative"},
             {hours({.model_weights = {{"A100", "NaN"}}}), "\"NaN\" is not a decimal number"},
             {hours({.model_weights = {{"A100", "1e9"}}}), "\"1e9\" is not a decimal number"},
             {hours({.model_weights = {{"A100", "1001"}}}), "\"1001\" is too large; write at most"},
             {hours({.model_weights = {{"", "1"}}}), "[\"\"]: names no model; write words"},
             {hours({.model_weights = {{"--", "1"}}}), "[\"--\"]: names no model"},
             {hours({.model_weights = {{"A100", "1"}, {"a100", "2"}}}),
              "[\"a100\"]: is \"A100\" again; keep one of them"},
             {hours({.model_weights = many}), "spec.modelWeights: has 65 models; write at most 64"},
             {hours({.period = "yearly"}), "spec.period: \"yearly\" is unknown; write daily"},
             {hours({.period = "sliding"}), "spec.slidingWindow: is missing; write the length"},
             {hours({.period = "sliding", .sliding_window = "59s"}),
              "spec.slidingWindow: \"59s\" is out of range; write 1m to 366d"},
             {hours({.period = "sliding", .sliding_window = "367d"}), "is out of range"},
             {hours({.period = "sliding", .sliding_window = "60.5s"}), "is no whole number"},
             {hours({.period = "sliding", .sliding_window = "x"}),
              "spec.slidingWindow: \"x\" is no duration"},
             {hours({.period = "sliding", .time_zone = "UTC", .sliding_window = "1h"}),
              "spec.timeZone: has no effect on a sliding period; remove it"},
             {hours({.period = "sliding", .sliding_window = "1h", .carry_over = "1h"}),
              "spec.carryOver: has no effect on a sliding period; remove it"},
             {hours({.period = "daily", .sliding_window = "1h"}),
              "spec.slidingWindow: has no effect on a daily period; remove it, or write sliding"},
             {hours({.carry_over = "-1h"}), "spec.carryOver: \"-1h\" is negative"},
             {hours({.when_spent = "delete"}), "spec.whenSpent: \"delete\" is unknown; write"}}) {
        const auto spec = parse_budget(c.fields);
        ASSERT_FALSE(spec) << c.error;
        EXPECT_EQ(spec.error().code, Code::invalid_argument);
        EXPECT_TRUE(spec.error().text.starts_with("spec.")) << spec.error().text;
        EXPECT_NE(spec.error().text.find(c.error), std::string::npos) << spec.error().text;
    }
}

// Goal: a second budget in a namespace is an error that names both and the fix.
TEST(BudgetSpec, OneBudgetInANamespace) {
    EXPECT_TRUE(check_one_budget("team", {}));
    EXPECT_TRUE(check_one_budget("team", std::vector<std::string>{"a"}));
    const auto two = check_one_budget("team", std::vector<std::string>{"a", "b"});
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error().code, Code::conflict);
    EXPECT_EQ(
        two.error().text,
        "namespace team has 2 GpuBudgets, a and b among them; keep one and delete the others");
}

}  // namespace
}  // namespace tessera
