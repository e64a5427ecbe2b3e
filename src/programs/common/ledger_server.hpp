// The rows ledger_url, ledger_ca_file and ledger_token_file of the programs that use the ledger.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct LedgerServer {
    std::string url;  // empty: the program uses no ledger
    std::string ca_file;
    std::string token_file;  // empty: the credentials for the API server
};

// invalid_argument names the row and the fix.
Result<> check_ledger_server(const LedgerServer& server);

// The endpoint, without authorities. `api`: the API server.
Result<HttpEndpoint> ledger_endpoint(const LedgerServer& server, const HttpClient& api);

}  // namespace tessera
