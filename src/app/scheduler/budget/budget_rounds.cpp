#include "app/scheduler/budget/budget_rounds.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "app/scheduler/budget/usage_windows.hpp"
#include "base/log.hpp"
#include "base/utc_text.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kClockBehindSeconds = 120;
constexpr const char* kLedgerAway =
    "the ledger does not answer; what was known of the budget counts until it does";

std::string evaluated_text(const BudgetVerdict& verdict, PeriodKind kind) {
    std::string text = use_text(verdict, kind);
    if (verdict.is_spent) {
        text += "; the budget is spent";
        if (verdict.refilled_at_s) text += " until " + utc_text(*verdict.refilled_at_s);
    } else if (verdict.exhausted_at_s) {
        text +=
            "; with the use of the last hour it is spent at " + utc_text(*verdict.exhausted_at_s);
    }
    return text;
}

}  // namespace

Result<BudgetRounds::Item> BudgetRounds::item_of(const BudgetObject& object) const {
    if (!object.fault.empty()) return fail(Code::invalid_argument, object.fault);
    TRY(BudgetSpec spec, parse_budget(object.fields));
    auto zone = tools_.zones.find(spec.period.time_zone);
    if (!zone) return fail(zone.error().in("spec.timeZone"));
    return Item{.object = &object, .spec = std::move(spec), .zone = *std::move(zone)};
}

void BudgetRounds::sort_out(Round& round) const {
    std::map<std::string, std::vector<std::string>> names;
    for (const BudgetObject& object : round.objects)
        names[object.ns].push_back(object.name);
    for (const BudgetObject& object : round.objects) {
        const auto alone = check_one_budget(object.ns, names[object.ns]);
        auto item = item_of(object);
        if (!alone) {
            round.faults.emplace_back(&object, BudgetReport{.fault = BudgetFault::several_budgets,
                                                            .message = alone.error().text});
        } else if (!item) {
            round.faults.emplace_back(&object, BudgetReport{.fault = BudgetFault::invalid_spec,
                                                            .message = item.error().text});
        } else {
            round.items.push_back(*std::move(item));
        }
    }
}

Result<> BudgetRounds::evaluate(std::vector<Item>& items) {
    if (items.empty()) return {};
    TRY(auto kept, tools_.ledger.budgets());
    // A budget that was deleted and made again has no debt.
    const auto before = [&](const Item& item) -> const KeptBudget* {
        const auto found = kept.find(item.object->ns);
        const bool is_it = found != kept.end() && found->second.uid == item.object->uid;
        return is_it ? &found->second : nullptr;
    };
    const auto state_before = [&](const Item& item) {
        const KeptBudget* const found = before(item);
        return found == nullptr ? std::nullopt : std::optional(found->state);
    };
    const std::int64_t now_s = tools_.clock.unix_ns() / kNanosPerSecond;
    UsageWindows usage;
    for (Item& item : items) {
        item.times = needed_times(state_before(item), item.spec, item.zone, now_s);
        usage.need(item.object->ns, item.times);
    }
    TRY_VOID(usage.read(tools_.ledger));
    for (Item& item : items) {
        const UsageCurve curve = usage.curve(item.object->ns, item.times, item.spec.rule);
        const KeptBudget* const found = before(item);
        item.kept = {.uid = item.object->uid,
                     .state = advance(state_before(item), item.spec, item.zone, curve, now_s),
                     .reported = found == nullptr ? 0 : found->reported};
        item.verdict = judge(item.kept.state, curve);
        item.crossed = take_crossed(item.kept.reported, *item.verdict);
    }
    return {};
}

// What could not be evaluated keeps its last verdict.
void BudgetRounds::publish(const std::vector<Item>& items) {
    const auto before = tools_.table.rows();
    BudgetTable::Rows rows;
    for (const Item& item : items) {
        const auto known = before->find(item.object->ns);
        if (!item.verdict && known == before->end()) continue;
        rows[item.object->ns] = {.budget = item.object->name,
                                 .when_spent = item.spec.when_spent,
                                 .kind = item.spec.period.kind,
                                 .verdict = item.verdict ? *item.verdict : known->second.verdict};
    }
    tools_.table.replace(std::move(rows));
}

Result<> BudgetRounds::tell_thresholds(const Item& item) {
    for (const int percent : item.crossed) {
        const bool is_spent = percent == 100;
        TRY_VOID(tools_.fence.begin(kWriteTakes));
        TRY_VOID(tools_.budgets.tell(
            {.ns = item.object->ns,
             .name = item.object->name,
             .uid = item.object->uid,
             .is_warning = is_spent,
             .reason = is_spent ? "BudgetSpent" : "BudgetThreshold",
             .message = is_spent ? evaluated_text(*item.verdict, item.spec.period.kind)
                                 : fmt::format("{} %: {}", percent,
                                               use_text(*item.verdict, item.spec.period.kind))}));
    }
    return {};
}

BudgetReport BudgetRounds::report_of(const Item& item) const {
    BudgetReport report{.kind = item.spec.period.kind, .verdict = item.verdict};
    if (item.verdict) {
        report.message = evaluated_text(*item.verdict, item.spec.period.kind);
        const std::int64_t behind_s =
            clock_behind_s(item.kept.state, tools_.clock.unix_ns() / kNanosPerSecond);
        if (behind_s >= kClockBehindSeconds) {
            report.message += fmt::format(
                "; the budget waits, because the controller's clock is {} s behind the last "
                "evaluation",
                behind_s);
        }
        return report;
    }
    report.fault = BudgetFault::ledger_unavailable;
    report.message = kLedgerAway;
    if (const auto known = tools_.table.find(item.object->ns)) report.verdict = known->verdict;
    return report;
}

Result<> BudgetRounds::write_reports(const Round& round, const std::stop_token& stop) {
    auto reports = round.faults;
    for (const Item& item : round.items) {
        if (item.verdict || failed_rounds_ >= kRoundsUntilUnknown)
            reports.emplace_back(item.object, report_of(item));
    }
    Result<> first_fault;
    for (const auto& [object, report] : reports) {
        if (stop.stop_requested()) return {};
        TRY_VOID(tools_.fence.begin(kWriteTakes));
        auto written = tools_.budgets.report(*object, report);
        if (written || written.error().code == Code::not_found) continue;
        if (written.error().code == Code::unavailable) return written;
        // This budget's fault: the others are not left out for it.
        if (first_fault) first_fault = std::move(written);
    }
    return first_fault;
}

// What is kept comes first, so no threshold is reported twice. An event that cannot be written is
// lost: the condition says the same.
Result<> BudgetRounds::write(const Round& round, const std::stop_token& stop) {
    std::map<std::string, KeptBudget> kept;
    for (const Item& item : round.items)
        if (item.verdict) kept[item.object->ns] = item.kept;
    Result<> fault = kept.empty() ? Result<>() : tools_.fence.begin(kWriteTakes);
    if (fault && !kept.empty()) fault = tools_.ledger.keep(kept);
    if (fault) {
        for (const Item& item : round.items) {
            if (auto reported = tell_thresholds(item); !reported) fault = std::move(reported);
        }
    }
    TRY_VOID(write_reports(round, stop));
    return fault;
}

void BudgetRounds::note(const std::string& fault) {
    if (!fault.empty() && fault != fault_) log_event(Event::budget_error, {{"reason", fault}});
    if (fault.empty() && !fault_.empty()) log_event(Event::budgets_evaluated, {});
    fault_ = fault;
}

void BudgetRounds::run_round(const std::stop_token& stop) {
    auto objects = tools_.budgets.list();
    if (!objects) return note(objects.error().text);
    Round round{.objects = *std::move(objects), .items = {}, .faults = {}};
    sort_out(round);
    const auto evaluated = evaluate(round.items);
    failed_rounds_ = evaluated ? 0 : failed_rounds_ + 1;
    publish(round.items);
    const auto written = tools_.fence.leads() ? write(round, stop) : Result<>();
    if (!evaluated) return note(evaluated.error().text);
    note(written ? "" : written.error().text);
}

}  // namespace tessera
