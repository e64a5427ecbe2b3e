#include "adapters/metering/ledger_connection.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/os/text_file.hpp"
#include "base/printable.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostCaBytes = std::size_t{1} << 20;
constexpr std::size_t kShownOfAnswer = 200;

}  // namespace

Result<HttpClient*> LedgerConnection::client() {
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
    endpoint.most_answer_bytes = most_answer_;
    client_ = std::make_unique<HttpClient>(std::move(endpoint));
    ca_pem_ = std::move(pem);
    return client_.get();
}

std::string answer_text(const HttpResponse& answer) {
    return fmt::format("the ledger answers {}: {}", answer.status,
                       printable(answer.body.substr(0, kShownOfAnswer)));
}

}  // namespace tessera
