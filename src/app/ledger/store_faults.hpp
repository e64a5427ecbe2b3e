// What fails in the ledger's store, operation by operation: counted each time, logged once for each
// state. Any thread may call.
#pragma once

#include <array>
#include <string>

#include "app/ledger/ledger_metrics.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"

namespace tessera {

class StoreFaults {
  public:
    // `metrics` outlives this.
    explicit StoreFaults(LedgerMetrics& metrics) : metrics_(metrics) {}

    // Notes how a call of the store went, and returns its result.
    template <class T>
    Result<T> note(StoreCall call, Result<T> result) {
        note_text(call, result ? std::string() : result.error().text);
        return result;
    }

    // How the operation failed the last time; empty if it succeeded, or was not tried.
    [[nodiscard]] std::string fault(StoreCall call) const;

  private:
    void note_text(StoreCall call, const std::string& fault);

    LedgerMetrics& metrics_;
    mutable Mutex mutex_;
    std::array<std::string, kStoreCalls> faults_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
