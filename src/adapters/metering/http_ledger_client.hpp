// The LedgerClient port over HTTP: POST /ledger/records with usage records
// (usage_records_json.hpp). The ledger answers 200 with {"added":N,"copies":M}, or 422 for records
// that it never takes.
#pragma once

#include <string>

#include "adapters/metering/ledger_connection.hpp"
#include "ports/metering/ledger_client.hpp"

namespace tessera {

class HttpLedgerClient final : public LedgerClient {
  public:
    // As LedgerConnection.
    HttpLedgerClient(HttpEndpoint server, std::string ca_file);

    Result<> send(std::span<const UsageRecord> records, const std::stop_token& stop) override;

  private:
    LedgerConnection connection_;
};

}  // namespace tessera
