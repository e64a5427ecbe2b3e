// The ledger's metrics as Prometheus text. Any thread may call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ports/ledger/ledger_store.hpp"
#include "ports/process_facts.hpp"

namespace tessera {

// The values of the label `operation` of tessera_ledger_store_errors_total, by their names.
enum class StoreCall { open, add, usage, roll_up, remove, check, budgets, keep_budgets };
inline constexpr std::size_t kStoreCalls = 8;
std::string_view to_string(StoreCall call);

// The values of the label `reason` of tessera_ledger_requests_refused_total, by their names.
enum class LedgerRefusal { invalid, newer_version };
std::string_view to_string(LedgerRefusal refusal);

class LedgerMetrics {
  public:
    // Without `process` there are no process metrics.
    explicit LedgerMetrics(ReadProcess process = {});
    ~LedgerMetrics();

    // `newest_s`: the end of the newest record, in unix seconds.
    void count_added(const AddedRecords& records, std::int64_t newest_s);
    void count_refused(LedgerRefusal refusal);
    void count_store_error(StoreCall call);
    void count_rolled_up(std::chrono::nanoseconds took, std::int64_t end_s);
    void count_removed(std::int64_t rows);
    // Nothing before the first record.
    [[nodiscard]] std::optional<std::int64_t> newest_record_s() const;

    [[nodiscard]] std::string expose(bool is_ready);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
