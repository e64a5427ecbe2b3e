// The connection to the ledger, which has a certificate authority of its own.
#pragma once

#include <memory>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera {

// Used by one thread.
class LedgerConnection {
  public:
    // `server`: without certificate authorities. `ca_file`: those that the ledger's certificate
    // may be signed by, in PEM. It is read again for each call: the ledger makes them, and kubelet
    // writes the file later. `most_answer`: bytes of the longest answer.
    LedgerConnection(HttpEndpoint server, std::string ca_file, std::size_t most_answer)
        : server_(std::move(server)), ca_file_(std::move(ca_file)), most_answer_(most_answer) {}

    // Valid until the next call. unavailable while there is no file of authorities.
    Result<HttpClient*> client();

  private:
    const HttpEndpoint server_;
    const std::string ca_file_;
    const std::size_t most_answer_;
    std::string ca_pem_;  // of client_
    std::unique_ptr<HttpClient> client_;
};

// What an unexpected answer of the ledger says, for an error.
std::string answer_text(const HttpResponse& answer);

}  // namespace tessera
