#include "app/ledger/ledger_upkeep.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;

}  // namespace

void LedgerUpkeep::check() {
    const Window last_interval{std::max<std::int64_t>(now_s() - kIntervalSeconds, 0),
                               std::max<std::int64_t>(now_s(), 1)};
    (void)parts_.faults.note(StoreCall::check, parts_.store.usage("default", last_interval));
    const MutexLock lock(mutex_);
    is_checked_ = true;
}

std::string LedgerUpkeep::not_ready() const {
    {
        const MutexLock lock(mutex_);
        if (!is_checked_) return "the database was not asked yet";
    }
    return parts_.faults.fault(StoreCall::check);
}

void LedgerUpkeep::run_round(const std::stop_token& stop) {
    roll_up(stop);
    if (retention_days_ > 0) remove(stop);
}

void LedgerUpkeep::roll_up(const std::stop_token& stop) {
    const std::int64_t before_s = now_s() - std::chrono::seconds(kRollUpAfter).count();
    const auto begin = parts_.clock.steady();
    const auto done = parts_.faults.note(StoreCall::roll_up, parts_.store.roll_up(before_s, stop));
    if (!done) return;
    parts_.metrics.count_rolled_up(parts_.clock.steady() - begin, now_s());
    if (done->rows_before == done->rows_after) return;
    log_event(Event::ledger_rolled_up,
              {{"rows_before", done->rows_before}, {"rows_after", done->rows_after}});
}

// A clock that was set forward by mistake must not remove the history. The newest record shows the
// time, too: it comes from the nodes.
void LedgerUpkeep::remove(const std::stop_token& stop) {
    const auto newest_s = parts_.metrics.newest_record_s();
    if (!newest_s) return;
    const auto now = parts_.clock.steady();
    if (removed_at_ && now - *removed_at_ < kRemovalPeriod) return;
    const std::int64_t before_s = std::min(now_s(), *newest_s) - retention_days_ * kDaySeconds;
    const auto rows =
        parts_.faults.note(StoreCall::remove, parts_.store.remove_before(before_s, stop));
    if (!rows) return;
    if (!stop.stop_requested()) removed_at_ = now;
    parts_.metrics.count_removed(*rows);
    if (*rows > 0) log_event(Event::ledger_removed, {{"rows", *rows}, {"before", before_s}});
}

}  // namespace tessera
