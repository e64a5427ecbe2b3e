// The LedgerClient port over HTTP: POST /ledger/records with usage records
// (usage_records_json.hpp). The ledger answers 200 with {"added":N,"copies":M}, or 422 for records
// that it never takes.
#pragma once

#include <memory>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/metering/ledger_client.hpp"

namespace tessera {

class HttpLedgerClient final : public LedgerClient {
  public:
    // `server`: without certificate authorities. `ca_file`: those that the ledger's certificate
    // may be signed by, in PEM. It is read again for each call: the ledger makes them, and kubelet
    // writes the file later.
    HttpLedgerClient(HttpEndpoint server, std::string ca_file)
        : server_(std::move(server)), ca_file_(std::move(ca_file)) {}

    Result<> send(std::span<const UsageRecord> records, const std::stop_token& stop) override;

  private:
    // Valid until the next call.
    Result<HttpClient*> client();

    const HttpEndpoint server_;
    const std::string ca_file_;
    std::string ca_pem_;  // of client_
    std::unique_ptr<HttpClient> client_;
};

}  // namespace tessera
