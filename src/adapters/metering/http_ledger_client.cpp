#include "adapters/metering/http_ledger_client.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/os/text_file.hpp"
#include "base/printable.hpp"
#include "wire/tessera/usage_records_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{20};
constexpr std::size_t kMostCaBytes = std::size_t{1} << 20;
constexpr std::size_t kMostAnswer = std::size_t{64} << 10;
constexpr std::size_t kShownOfAnswer = 200;
constexpr int kUnprocessable = 422;

// A server that is no ledger must not make the agent remove its records.
bool says_stored(const std::string& body) {
    const auto document = JsonDocument::parse(body);
    return document && document->root()["added"].integer() && document->root()["copies"].integer();
}

}  // namespace

Result<HttpClient*> HttpLedgerClient::client() {
    std::string pem;
    if (server_.tls) {
        auto read = read_text_file_up_to(ca_file_, kMostCaBytes);
        if (!read) {
            return fail(Code::unavailable,
                        read.error().text + "; the ledger makes it when it starts");
        }
        if (read->empty()) {
            return fail(Code::unavailable,
                        ca_file_ + ": is empty; the ledger fills it when it starts");
        }
        pem = *std::move(read);
    }
    if (client_ && pem == ca_pem_) return client_.get();
    HttpEndpoint endpoint = server_;
    endpoint.ca_pem = pem;
    endpoint.is_direct = true;
    endpoint.most_answer_bytes = kMostAnswer;
    client_ = std::make_unique<HttpClient>(std::move(endpoint));
    ca_pem_ = std::move(pem);
    return client_.get();
}

Result<> HttpLedgerClient::send(std::span<const UsageRecord> records, const std::stop_token& stop) {
    TRY(HttpClient* const http, client());
    TRY(const HttpResponse answer, http->send({.method = "POST",
                                               .path = "/ledger/records",
                                               .body = write_usage_records(records),
                                               .content_type = "application/json"},
                                              kDeadline, stop));
    if (answer.status == 200 && says_stored(answer.body)) return {};
    const std::string why = fmt::format("the ledger answers {}: {}", answer.status,
                                        printable(answer.body.substr(0, kShownOfAnswer)));
    // Other servers, and proxies, answer 400 for many reasons.
    return fail(answer.status == kUnprocessable ? Code::invalid_argument : Code::unavailable, why);
}

}  // namespace tessera
