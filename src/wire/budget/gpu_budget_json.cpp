#include "wire/budget/gpu_budget_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utc_text.hpp"
#include "wire/text/utc_time.hpp"

namespace tessera {
namespace {

constexpr std::string_view kGroup = "tessera.dev";
constexpr std::string_view kVersion = "v1alpha1";
constexpr std::string_view kReady = "Ready";
constexpr std::string_view kSpent = "Spent";

// A text; "" if there is none.
void read_text(JsonValue spec, std::string_view field, std::string& out, std::string& fault) {
    const JsonValue value = spec[field];
    if (!value.present()) return;
    if (const auto text = value.text()) {
        out = *text;
    } else if (fault.empty()) {
        fault = fmt::format("spec.{}: is no text; put it in quotes", field);
    }
}

void read_weights(JsonValue weights, BudgetFields& fields, std::string& fault) {
    for (const auto& [model, value] : weights.members()) {
        if (const auto text = value.text()) {
            fields.model_weights[std::string(model)] = *text;
        } else if (const auto number = value.integer()) {
            fields.model_weights[std::string(model)] = std::to_string(*number);
        } else if (fault.empty()) {
            fault = fmt::format("spec.modelWeights[{}]: is neither a text nor a whole number",
                                json_string(model));
        }
    }
    if (weights.present() && !weights.is_object() && fault.empty())
        fault = "spec.modelWeights: is no map of models";
}

std::string_view reason_of(BudgetFault fault) {
    switch (fault) {
        case BudgetFault::none:
            return "Evaluated";
        case BudgetFault::invalid_spec:
            return "InvalidSpec";
        case BudgetFault::several_budgets:
            return "SeveralBudgets";
        case BudgetFault::ledger_unavailable:
            return "LedgerUnavailable";
    }
    return "";
}

std::string seconds_text(GpuDuration duration) {
    return to_string(whole_seconds(duration));
}

// 100 is reached exactly when the budget is spent. Nothing granted: 100.
std::int64_t percent_of(const BudgetVerdict& verdict) {
    constexpr WideInt kMost = 1'000'000;
    if (verdict.granted <= GpuDuration{}) return 100;
    return static_cast<std::int64_t>(
        std::min(verdict.used.nanos * 100 / verdict.granted.nanos, kMost));
}

void write_time(JsonWriter& w, std::string_view key, const std::optional<std::int64_t>& unix_s) {
    if (unix_s) {
        w.member(key, utc_text(*unix_s));
    } else {
        w.raw_member(key, "null");
    }
}

// The window of a sliding period ends at the evaluation, which is no news.
void write_verdict(JsonWriter& w, const BudgetVerdict& verdict, PeriodKind kind) {
    const bool is_sliding = kind == PeriodKind::sliding;
    const auto time = [&](std::int64_t unix_s) {
        return is_sliding ? std::nullopt : std::optional(unix_s);
    };
    write_time(w, "periodStart", time(verdict.period.from_s));
    write_time(w, "periodEnd", time(verdict.period.to_s));
    w.member("granted", seconds_text(verdict.granted));
    w.member("used", seconds_text(verdict.used));
    w.member("remaining", seconds_text(verdict.remaining));
    w.member("usedPercent", percent_of(verdict));
    write_time(w, "exhaustedAt", verdict.exhausted_at_s);
    write_time(w, "refilledAt", verdict.refilled_at_s);
}

struct Condition {
    std::string_view type;
    std::string_view status;
    std::string_view reason;
    std::string message;
};

void write_condition(JsonWriter& w, const BudgetObject& budget, const Condition& condition,
                     std::int64_t now_s) {
    const auto before = budget.conditions.find(std::string(condition.type));
    const bool is_same =
        before != budget.conditions.end() && before->second.status == condition.status;
    w.object([&] {
        w.member("type", condition.type);
        w.member("status", condition.status);
        w.member("reason", condition.reason);
        w.member("message", condition.message);
        w.member("lastTransitionTime", is_same ? before->second.since : utc_text(now_s));
        w.member("observedGeneration", budget.generation);
    });
}

}  // namespace

std::string budget_api() {
    return fmt::format("{}/{}", kGroup, kVersion);
}

BudgetObject read_gpu_budget(JsonValue object) {
    const JsonValue metadata = object["metadata"];
    BudgetObject out{.ns = metadata["namespace"].text_or(""),
                     .name = metadata["name"].text_or(""),
                     .uid = metadata["uid"].text_or(""),
                     .generation = metadata["generation"].integer().value_or(0)};
    const JsonValue spec = object["spec"];
    const std::pair<std::string_view, std::string BudgetFields::*> texts[] = {
        {"gpuTime", &BudgetFields::gpu_time},     {"counts", &BudgetFields::counts},
        {"period", &BudgetFields::period},        {"timeZone", &BudgetFields::time_zone},
        {"carryOver", &BudgetFields::carry_over}, {"slidingWindow", &BudgetFields::sliding_window},
        {"whenSpent", &BudgetFields::when_spent}};
    for (const auto& [field, member] : texts)
        read_text(spec, field, out.fields.*member, out.fault);
    read_weights(spec["modelWeights"], out.fields, out.fault);
    for (const JsonValue condition : object["status"]["conditions"].elements()) {
        std::string since = condition["lastTransitionTime"].text_or("");
        // The API server would refuse what a user wrote there by mistake.
        if (!is_utc_time(since)) continue;
        out.conditions[condition["type"].text_or("")] = {condition["status"].text_or(""),
                                                         std::move(since)};
    }
    return out;
}

std::string write_budget_status(const BudgetObject& budget, const BudgetReport& report,
                                std::int64_t now_s) {
    const bool is_known = report.fault != BudgetFault::ledger_unavailable;
    const bool is_ready = report.fault == BudgetFault::none;
    const std::string_view ready = is_ready ? "True" : is_known ? "False" : "Unknown";
    std::string_view spent = "Unknown";
    if (report.verdict) spent = report.verdict->is_spent ? "True" : "False";
    JsonWriter w;
    w.object([&] {
        w.object("status", [&] {
            w.member("observedGeneration", budget.generation);
            if (report.verdict) write_verdict(w, *report.verdict, report.kind);
            w.array("conditions", [&] {
                write_condition(w, budget, {kReady, ready, reason_of(report.fault), report.message},
                                now_s);
                write_condition(w, budget,
                                {kSpent, spent, report.verdict ? "Measured" : "NotEvaluated", ""},
                                now_s);
            });
        });
    });
    return w.take();
}

std::string write_budget_event(const BudgetEvent& event, std::int64_t now_s) {
    const std::string time = utc_text(now_s);
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "Event");
        w.object("metadata", [&] {
            w.member("generateName", event.name + ".");
            w.member("namespace", event.ns);
        });
        w.object("involvedObject", [&] {
            w.member("apiVersion", budget_api());
            w.member("kind", "GpuBudget");
            w.member("name", event.name);
            w.member("namespace", event.ns);
            w.member("uid", event.uid);
        });
        w.member("type", event.is_warning ? "Warning" : "Normal");
        w.member("reason", event.reason);
        w.member("message", event.message);
        w.object("source", [&] { w.member("component", "tessera-controller"); });
        w.member("firstTimestamp", time);
        w.member("lastTimestamp", time);
        w.member("count", 1);
    });
    return w.take();
}

}  // namespace tessera
