#include "app/scheduler/budget/usage_windows.hpp"

namespace tessera {
namespace {

std::vector<Window> windows_between(std::span<const std::int64_t> times) {
    std::vector<Window> out;
    for (std::size_t i = 1; i < times.size(); ++i)
        out.push_back({times[i - 1], times[i]});
    return out;
}

}  // namespace

void UsageWindows::need(const std::string& ns, std::span<const std::int64_t> times) {
    for (const Window window : windows_between(times))
        needed_[window].insert(ns);
}

Result<> UsageWindows::read(BudgetLedger& ledger) {
    for (const auto& [window, namespaces] : needed_) {
        if (namespaces.size() >= kReadTogether) {
            TRY(auto all, ledger.usage(window, ""));
            for (const std::string& ns : namespaces)
                sums_[{window, ns}] = std::move(all[ns]);
            continue;
        }
        for (const std::string& ns : namespaces) {
            TRY(auto one, ledger.usage(window, ns));
            sums_[{window, ns}] = std::move(one[ns]);
        }
    }
    return {};
}

UsageCurve UsageWindows::curve(const std::string& ns, std::span<const std::int64_t> times,
                               const ChargeRule& rule) const {
    std::vector<UsedWindow> used;
    for (const Window window : windows_between(times)) {
        GpuDuration charged;
        if (const auto found = sums_.find({window, ns}); found != sums_.end()) {
            for (const UsageSum& sum : found->second)
                charged += charge(sum, rule);
        }
        used.push_back({window, charged});
    }
    return UsageCurve::of_windows(used);
}

}  // namespace tessera
