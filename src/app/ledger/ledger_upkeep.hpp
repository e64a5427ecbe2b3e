// The periodic work on the ledger's store: whether it answers, roll-ups, and the removal of old
// records.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "app/ledger/ledger_metrics.hpp"
#include "app/ledger/store_faults.hpp"
#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

class LedgerUpkeep {
  public:
    static constexpr std::chrono::seconds kCheckPeriod{5};
    static constexpr std::chrono::minutes kRoundPeriod{10};
    static constexpr std::chrono::hours kRollUpAfter{24};
    static constexpr std::chrono::hours kRemovalPeriod{24};
    // A monthly budget needs the records of its period, and of the eight days before in which
    // agents may send records again.
    static constexpr std::int64_t kLeastRetentionDays = 40;

    struct Parts {
        LedgerStore& store;
        StoreFaults& faults;
        LedgerMetrics& metrics;
        Clock& clock;
    };
    // `retention_days`: 0 keeps all records. All references outlive this.
    LedgerUpkeep(Parts parts, std::int64_t retention_days)
        : parts_(parts), retention_days_(retention_days) {}

    // Asks the store for a sum. One thread.
    void check();
    // Empty after a check that succeeded, else why the store is not ready. Any thread.
    [[nodiscard]] std::string not_ready() const;

    // Rolls up, and removes once a day. One thread. What fails, or was stopped, is tried again in
    // the next round.
    void run_round(const std::stop_token& stop = {});

  private:
    void roll_up(const std::stop_token& stop);
    void remove(const std::stop_token& stop);
    [[nodiscard]] std::int64_t now_s() const { return parts_.clock.unix_ns() / 1'000'000'000; }

    const Parts parts_;
    const std::int64_t retention_days_;
    std::optional<std::chrono::nanoseconds> removed_at_;  // of the thread of run_round

    mutable Mutex mutex_;
    bool is_checked_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
