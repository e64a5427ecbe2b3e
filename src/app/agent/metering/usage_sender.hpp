// Sends the node's records of GPU time to the ledger.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "ports/metering/ledger_client.hpp"
#include "ports/metering/usage_spool.hpp"

namespace tessera {

// Used by one thread.
class UsageSender {
  public:
    static constexpr std::chrono::seconds kPeriod{5};
    // After an error.
    static constexpr std::chrono::seconds kAgain{30};

    // Both outlive this.
    UsageSender(UsageSpool& spool, LedgerClient& ledger) : spool_(spool), ledger_(ledger) {}

    // Sends all that there is, oldest first. Returns when to call it again.
    std::chrono::seconds send(const std::stop_token& stop);

  private:
    Result<> send_all(const std::stop_token& stop);

    UsageSpool& spool_;
    LedgerClient& ledger_;
    std::string fault_;  // the last logged one, as long as it lasts
};

}  // namespace tessera
