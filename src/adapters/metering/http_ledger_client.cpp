#include "adapters/metering/http_ledger_client.hpp"

#include <utility>

#include "wire/tessera/usage_records_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{20};
constexpr std::size_t kMostAnswer = std::size_t{64} << 10;
constexpr int kUnprocessable = 422;

// A server that is no ledger must not make the agent remove its records.
bool says_stored(const std::string& body) {
    const auto document = JsonDocument::parse(body);
    return document && document->root()["added"].integer() && document->root()["copies"].integer();
}

}  // namespace

HttpLedgerClient::HttpLedgerClient(HttpEndpoint server, std::string ca_file)
    : connection_(std::move(server), std::move(ca_file), kMostAnswer) {}

Result<> HttpLedgerClient::send(std::span<const UsageRecord> records, const std::stop_token& stop) {
    TRY(HttpClient* const http, connection_.client());
    TRY(const HttpResponse answer, http->send({.method = "POST",
                                               .path = "/ledger/records",
                                               .body = write_usage_records(records),
                                               .content_type = "application/json"},
                                              kDeadline, stop));
    if (answer.status == 200 && says_stored(answer.body)) return {};
    // Other servers, and proxies, answer 400 for many reasons.
    return fail(answer.status == kUnprocessable ? Code::invalid_argument : Code::unavailable,
                answer_text(answer));
}

}  // namespace tessera
