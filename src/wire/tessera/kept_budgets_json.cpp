#include "wire/tessera/kept_budgets_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "domain/budget/budget_spec.hpp"
#include "wire/text/json.hpp"
#include "wire/text/json_field.hpp"

namespace tessera {
namespace {

// A period begins before 1970 or ends after kEndOfTime if it contains a time close to them.
constexpr std::int64_t kLeastTime = -kMostSlidingSeconds;
constexpr std::int64_t kMostTime = kEndOfTime + kMostSlidingSeconds;

void write_period(JsonWriter& w, const Period& period) {
    w.object("period", [&] {
        w.member("kind", to_string(period.kind));
        if (period.kind == PeriodKind::sliding) {
            w.member("seconds", period.sliding_s);
        } else {
            w.member("timeZone", period.time_zone);
        }
    });
}

void write_grant(JsonWriter& w, Window window, GpuDuration gpu_time, GpuDuration carry_over) {
    w.member("from", window.from_s);
    w.member("to", window.to_s);
    w.member("gpuTime", to_string(gpu_time));
    w.member("carryOver", to_string(carry_over));
}

void write_members(JsonWriter& w, const KeptBudget& budget) {
    const BudgetState& state = budget.state;
    w.member("uid", budget.uid);
    w.member("reported", budget.reported);
    w.member("lastSeen", state.last_seen_s);
    write_period(w, state.period);
    write_grant(w, state.current, state.gpu_time, state.carry_over);
    w.member("balance", to_string(state.balance));
    w.array("closed", [&] {
        for (const ClosedPeriod& each : state.closed)
            w.object([&] { write_grant(w, each.window, each.gpu_time, each.carry_over); });
    });
}

// The text of the field, by `parse`.
template <class T>
Result<T> parsed(const JsonField& at, Result<T> (*parse)(std::string_view)) {
    TRY(const std::string text, at.text());
    auto value = parse(text);
    if (!value) return at.fault(value.error().text);
    return value;
}

Result<Period> read_period(const JsonField& at) {
    Period period;
    TRY(period.kind, parsed(at["kind"], parse_period_kind));
    if (period.kind == PeriodKind::sliding) {
        TRY(period.sliding_s, at["seconds"].number(kLeastSlidingSeconds, kMostSlidingSeconds));
    } else {
        TRY(period.time_zone, at["timeZone"].text());
    }
    return period;
}

Result<ClosedPeriod> read_grant(const JsonField& at) {
    ClosedPeriod grant;
    TRY(grant.window.from_s, at["from"].number(kLeastTime, kMostTime));
    TRY(grant.window.to_s, at["to"].number(grant.window.from_s + 1, kMostTime));
    TRY(grant.gpu_time, parsed(at["gpuTime"], parse_gpu_duration));
    TRY(grant.carry_over, parsed(at["carryOver"], parse_gpu_duration));
    return grant;
}

// What advance() relies on.
Result<> check_current(const JsonField& at, const BudgetState& state) {
    if (state.period.kind == PeriodKind::sliding) {
        const Window last{state.last_seen_s - state.period.sliding_s, state.last_seen_s};
        if (state.current.from_s != last.from_s)
            return at["from"].fault(fmt::format("is not {}, seconds before lastSeen", last.from_s));
        if (state.current.to_s != last.to_s) return at["to"].fault("is not lastSeen");
        return {};
    }
    if (state.current.from_s > state.last_seen_s)
        return at["from"].fault("is later than lastSeen, which the period contains");
    if (state.current.to_s <= state.last_seen_s)
        return at["to"].fault("is not after lastSeen, which the period contains");
    return {};
}

Result<> check_closed(const JsonField& at, const BudgetState& state) {
    if (state.closed.empty()) return {};
    if (state.period.kind == PeriodKind::sliding)
        return at.fault("a sliding period has none; remove them");
    if (state.closed.size() > kMostClosedPeriods) {
        return at.fault(fmt::format("has {} periods; keep at most {}", state.closed.size(),
                                    kMostClosedPeriods));
    }
    for (std::size_t i = 0; i < state.closed.size(); ++i) {
        const bool is_last = i + 1 == state.closed.size();
        const Window& next = is_last ? state.current : state.closed[i + 1].window;
        if (state.closed[i].window.to_s == next.from_s) continue;
        return at.fault(
            fmt::format("period {} ends at {}, and the next one begins at {}; periods "
                        "follow each other until the current one",
                        i, state.closed[i].window.to_s, next.from_s));
    }
    return {};
}

Result<KeptBudget> read_members(const JsonField& at) {
    KeptBudget budget;
    BudgetState& state = budget.state;
    TRY(budget.uid, at["uid"].text());
    TRY(const auto reported, at["reported"].number(0, 100));
    budget.reported = static_cast<int>(reported);
    TRY(state.last_seen_s, at["lastSeen"].number(0, kEndOfTime - 1));
    TRY(state.period, read_period(at["period"]));
    TRY(const ClosedPeriod current, read_grant(at));
    state.current = current.window;
    state.gpu_time = current.gpu_time;
    state.carry_over = current.carry_over;
    TRY(state.balance, parsed(at["balance"], parse_gpu_balance));
    TRY(state.closed, at["closed"].each(read_grant));
    TRY_VOID(check_current(at, state));
    TRY_VOID(check_closed(at["closed"], state));
    return budget;
}

using NamedBudget = std::pair<std::string, KeptBudget>;

Result<NamedBudget> read_named(const JsonField& at) {
    NamedBudget out;
    TRY(out.first, at["namespace"].text());
    TRY(out.second, read_members(at));
    return out;
}

}  // namespace

std::string write_kept_budgets(const std::map<std::string, KeptBudget>& budgets) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kKeptBudgetsVersion);
        w.array("budgets", [&] {
            for (const auto& [ns, budget] : budgets) {
                w.object([&, &ns = ns, &budget = budget] {
                    w.member("namespace", ns);
                    write_members(w, budget);
                });
            }
        });
    });
    return w.take() + "\n";
}

Result<std::map<std::string, KeptBudget>> read_kept_budgets(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kKeptBudgetsVersion));
    TRY(auto budgets, root["budgets"].each(read_named));
    std::map<std::string, KeptBudget> out;
    for (auto& [ns, budget] : budgets) {
        if (out.contains(ns))
            return root["budgets"].fault(fmt::format("{} is listed twice", json_string(ns)));
        out.emplace(std::move(ns), std::move(budget));
    }
    return out;
}

std::string write_kept_budget(const KeptBudget& budget) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kKeptBudgetsVersion);
        write_members(w, budget);
    });
    return w.take();
}

Result<KeptBudget> read_kept_budget(std::string_view text) {
    TRY(const JsonDocument document, JsonDocument::parse(text));
    const JsonField root(document.root(), "");
    TRY_VOID(root.check_version(kKeptBudgetsVersion));
    return read_members(root);
}

}  // namespace tessera
