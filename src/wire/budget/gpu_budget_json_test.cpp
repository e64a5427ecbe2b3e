#include "wire/budget/gpu_budget_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

BudgetObject read(const std::string& text) {
    return read_gpu_budget(JsonDocument::parse(text).value().root());
}

// Goal: each field of the spec arrives, and weights may be whole numbers.
TEST(GpuBudgetJson, ReadsBudgets) {
    const BudgetObject found =
        read(R"({"metadata":{"namespace":"team","name":"b","uid":"u","generation":3},"spec":{)"
             R"("gpuTime":"20h","counts":"mean","modelWeights":{"A100":"1.5","T4":2},)"
             R"("period":"sliding","timeZone":"UTC","slidingWindow":"24h","carryOver":"1h",)"
             R"("whenSpent":"deny-new"},"status":{"conditions":[)"
             R"({"type":"Spent","status":"True","lastTransitionTime":"2026-03-01T00:00:00Z"},)"
             R"({"type":"Ready","status":"True","lastTransitionTime":"yesterday"},7]}})");
    EXPECT_EQ(found.ns + "/" + found.name + "/" + found.uid, "team/b/u");
    EXPECT_EQ(found.generation, 3);
    EXPECT_EQ(found.fault, "");
    const BudgetFields& fields = found.fields;
    EXPECT_EQ(fields.gpu_time, "20h");
    EXPECT_EQ(fields.counts, "mean");
    EXPECT_EQ(fields.model_weights,
              (std::map<std::string, std::string>{{"A100", "1.5"}, {"T4", "2"}}));
    EXPECT_EQ(fields.period, "sliding");
    EXPECT_EQ(fields.time_zone, "UTC");
    EXPECT_EQ(fields.sliding_window, "24h");
    EXPECT_EQ(fields.carry_over, "1h");
    EXPECT_EQ(fields.when_spent, "deny-new");
    EXPECT_EQ(
        found.conditions,
        (std::map<std::string, BudgetCondition>{{"Spent", {"True", "2026-03-01T00:00:00Z"}}}));
}

// Goal: a field of a wrong type is named, and nothing else goes wrong.
TEST(GpuBudgetJson, NamesWrongTypes) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"spec":{"gpuTime":20}})", "spec.gpuTime: is no text; put it in quotes"},
        {R"({"spec":{"modelWeights":{"A100":1.5}}})",
         "spec.modelWeights[\"A100\"]: is neither a text nor a whole number"},
        {R"({"spec":{"modelWeights":[1]}})", "spec.modelWeights: is no map of models"},
        {R"({"spec":7})", ""},
        {R"([])", ""},
    };
    for (const auto& [text, fault] : cases)
        EXPECT_EQ(read(text).fault, fault) << text;
}

// Goal: the status says what is used in whole seconds, and since when the conditions are so.
TEST(GpuBudgetJson, WritesStatus) {
    const BudgetObject budget{.ns = "team",
                              .name = "b",
                              .uid = "u",
                              .generation = 3,
                              .fields = {},
                              .fault = "",
                              .conditions = {{"Ready", {"True", "2026-01-01T00:00:00Z"}},
                                             {"Spent", {"False", "2026-01-01T00:00:00Z"}}}};
    BudgetVerdict verdict{.period = {0, 86'400},
                          .granted = gpu_hours(2),
                          .used = gpu_hours(3) + GpuDuration{1},
                          .remaining = gpu_hours(-1) - GpuDuration{1},
                          .is_spent = true,
                          .crossed = 100};
    verdict.refilled_at_s = 86'400;
    EXPECT_EQ(write_budget_status(budget, {.message = "m", .verdict = verdict}, 60),
              R"({"status":{"observedGeneration":3,"periodStart":"1970-01-01T00:00:00Z",)"
              R"("periodEnd":"1970-01-02T00:00:00Z","granted":"2h","used":"3h",)"
              R"("remaining":"-1h","usedPercent":150,"exhaustedAt":null,)"
              R"("refilledAt":"1970-01-02T00:00:00Z","conditions":[)"
              R"({"type":"Ready","status":"True","reason":"Evaluated","message":"m",)"
              R"("lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":3},)"
              R"({"type":"Spent","status":"True","reason":"Measured","message":"",)"
              R"("lastTransitionTime":"1970-01-01T00:01:00Z","observedGeneration":3}]}})");
    EXPECT_EQ(write_budget_status(
                  budget, {.fault = BudgetFault::ledger_unavailable, .message = "away"}, 60),
              R"({"status":{"observedGeneration":3,"conditions":[)"
              R"({"type":"Ready","status":"Unknown","reason":"LedgerUnavailable","message":"away",)"
              R"("lastTransitionTime":"1970-01-01T00:01:00Z","observedGeneration":3},)"
              R"({"type":"Spent","status":"Unknown","reason":"NotEvaluated","message":"",)"
              R"("lastTransitionTime":"1970-01-01T00:01:00Z","observedGeneration":3}]}})");
}

TEST(GpuBudgetJson, WritesEvents) {
    EXPECT_EQ(write_budget_event({"team", "b", "u", true, "BudgetSpent", "all"}, 1),
              R"({"apiVersion":"v1","kind":"Event","metadata":{"generateName":"b.",)"
              R"("namespace":"team"},"involvedObject":{"apiVersion":"tessera.dev/v1alpha1",)"
              R"("kind":"GpuBudget","name":"b","namespace":"team","uid":"u"},"type":"Warning",)"
              R"("reason":"BudgetSpent","message":"all","source":{"component":)"
              R"("tessera-controller"},"firstTimestamp":"1970-01-01T00:00:01Z",)"
              R"("lastTimestamp":"1970-01-01T00:00:01Z","count":1})");
}

}  // namespace
}  // namespace tessera
