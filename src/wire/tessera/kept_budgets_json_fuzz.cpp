#include <algorithm>

#include "domain/budget/budget_verdict.hpp"
#include "testing/fuzz/fuzz.hpp"
#include "wire/tessera/kept_budgets_json.hpp"

namespace {

// A state that can be read can be evaluated, also after another period was named.
void evaluate(const tessera::KeptBudget& budget) {
    using namespace tessera;
    BudgetSpec spec{.gpu_time = gpu_hours(kMostGpuHours), .rule = {}, .period = {}};
    const std::int64_t now_s = budget.state.last_seen_s + std::int64_t{40} * 86'400;
    for (const Period& period : {budget.state.period, spec.period}) {
        spec.period = period;
        const auto times = needed_times(budget.state, spec, utc_rules(), now_s);
        FUZZ_CHECK(std::ranges::is_sorted(times));
        FUZZ_CHECK(times.front() >= 0 && times.back() <= kEndOfTime);
        judge(advance(budget.state, spec, utc_rules(), {}, now_s), {});
    }
}

}  // namespace

// What can be read, as a list or as one entry, survives write and read, and can be evaluated.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    if (const auto budgets = read_kept_budgets(fuzz_text(data, size))) {
        const auto again = read_kept_budgets(write_kept_budgets(*budgets));
        FUZZ_CHECK(again && *again == *budgets);
        for (const auto& each : *budgets)
            evaluate(each.second);
    }
    if (const auto budget = read_kept_budget(fuzz_text(data, size))) {
        const auto again = read_kept_budget(write_kept_budget(*budget));
        FUZZ_CHECK(again && *again == *budget);
        evaluate(*budget);
    }
    return 0;
}
