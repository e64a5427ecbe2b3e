#include "programs/common/ledger_server.hpp"

#include "adapters/http/server_url.hpp"
#include "adapters/kubeconfig/credential_sources.hpp"

namespace tessera {

Result<> check_ledger_server(const LedgerServer& server) {
    if (server.url.empty()) return {};
    const auto endpoint = parse_server_url(server.url);
    if (!endpoint) return fail(endpoint.error().in("ledger_url"));
    if (!endpoint->tls && endpoint->host != "127.0.0.1" && endpoint->host != "localhost") {
        return fail(Code::invalid_argument,
                    "ledger_url: the token would be sent without encryption; write https");
    }
    if (!endpoint->tls || !server.ca_file.empty()) return {};
    return fail(Code::invalid_argument,
                "ledger_ca_file: missing; name the file with the certificate authorities of the "
                "ledger");
}

Result<HttpEndpoint> ledger_endpoint(const LedgerServer& server, const HttpClient& api) {
    TRY(HttpEndpoint endpoint, parse_server_url(server.url));
    endpoint.credentials =
        server.token_file.empty() ? api.endpoint().credentials : token_from_file(server.token_file);
    return endpoint;
}

}  // namespace tessera
