#include "app/ledger/ledger_metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/metrics/families.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

constexpr std::array<std::string_view, kStoreCalls> kCallNames = {
    "open", "add", "usage", "roll_up", "remove", "check", "budgets", "keep_budgets"};
constexpr std::array<std::string_view, 2> kRefusalNames = {"invalid", "newer_version"};

}  // namespace

std::string_view to_string(StoreCall call) {
    return kCallNames.at(static_cast<std::size_t>(call));
}

std::string_view to_string(LedgerRefusal refusal) {
    return kRefusalNames.at(static_cast<std::size_t>(refusal));
}

class LedgerMetrics::Impl {
  public:
    // Zero is shown, too: a rate counts the first event only if there was a value before.
    explicit Impl(ReadProcess process) : process_(std::move(process)) {
        records_added_.Add({});
        records_copied_.Add({});
        rows_removed_.Add({});
        for (const std::string_view name : kRefusalNames)
            requests_refused_.Add({{"reason", std::string(name)}});
        for (const std::string_view name : kCallNames)
            store_errors_.Add({{"operation", std::string(name)}});
    }

    void count_added(const AddedRecords& records, std::int64_t newest_s) {
        records_added_.Add({}).Increment(static_cast<double>(records.added));
        records_copied_.Add({}).Increment(static_cast<double>(records.copies));
        const MutexLock lock(mutex_);
        newest_s_ = std::max(newest_s_.value_or(newest_s), newest_s);
        newest_record_.Add({}).Set(static_cast<double>(*newest_s_));
    }
    void count_refused(LedgerRefusal refusal) {
        requests_refused_.Add({{"reason", std::string(to_string(refusal))}}).Increment();
    }
    void count_store_error(StoreCall call) {
        store_errors_.Add({{"operation", std::string(to_string(call))}}).Increment();
    }
    void count_rolled_up(std::chrono::nanoseconds took, std::int64_t end_s) {
        roll_up_took_.Add({}).Set(std::chrono::duration<double>(took).count());
        roll_up_end_.Add({}).Set(static_cast<double>(end_s));
    }
    void count_removed(std::int64_t rows) {
        rows_removed_.Add({}).Increment(static_cast<double>(rows));
    }
    [[nodiscard]] std::optional<std::int64_t> newest_record_s() const {
        const MutexLock lock(mutex_);
        return newest_s_;
    }

    std::string expose(bool is_ready) {
        ready_.Add({}).Set(is_ready ? 1 : 0);
        prom::Registry now;
        if (process_) add_process(now, process_());
        return exposition({&registry_, &now});
    }

  private:
    const ReadProcess process_;
    mutable Mutex mutex_;
    std::optional<std::int64_t> newest_s_ TESSERA_GUARDED_BY(mutex_);
    prom::Registry registry_;
#define METRIC(kind, name, exposed, help) METRIC_##kind(name, exposed, help)
#define METRIC_gauge(name, exposed, help) \
    prom::Family<prom::Gauge>& name##_ = gauge(registry_, exposed, help);
#define METRIC_counter(name, exposed, help) \
    prom::Family<prom::Counter>& name##_ = counter(registry_, exposed, help);
#include "app/ledger/metrics.def"
#undef METRIC_gauge
#undef METRIC_counter
#undef METRIC
};

LedgerMetrics::LedgerMetrics(ReadProcess process)
    : impl_(std::make_unique<Impl>(std::move(process))) {}
LedgerMetrics::~LedgerMetrics() = default;

void LedgerMetrics::count_added(const AddedRecords& records, std::int64_t newest_s) {
    impl_->count_added(records, newest_s);
}
void LedgerMetrics::count_refused(LedgerRefusal refusal) {
    impl_->count_refused(refusal);
}
void LedgerMetrics::count_store_error(StoreCall call) {
    impl_->count_store_error(call);
}
void LedgerMetrics::count_rolled_up(std::chrono::nanoseconds took, std::int64_t end_s) {
    impl_->count_rolled_up(took, end_s);
}
void LedgerMetrics::count_removed(std::int64_t rows) {
    impl_->count_removed(rows);
}
std::optional<std::int64_t> LedgerMetrics::newest_record_s() const {
    return impl_->newest_record_s();
}
std::string LedgerMetrics::expose(bool is_ready) {
    return impl_->expose(is_ready);
}

}  // namespace tessera
