// The ledger of the cluster, as an agent sees it.
#pragma once

#include <span>
#include <stop_token>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {

// Used by one thread.
class LedgerClient {
  public:
    virtual ~LedgerClient() = default;

    // When it returns without an error, the ledger has the records on its disk. Sending them again
    // changes nothing. invalid_argument: the ledger refuses these records, and always will.
    // Another error: try again. Ends by its own deadline.
    virtual Result<> send(std::span<const UsageRecord> records, const std::stop_token& stop) = 0;
};

}  // namespace tessera
