// A server's TLS context: the trusted authorities, and our own certificate with its chain, from PEM
// texts. The first context makes the process ignore SIGPIPE.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "adapters/http/http.hpp"

namespace tessera {

struct SslContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslContextDeleter>;

// The contents of a server's files.
struct TlsServerPems {
    std::string certificate;
    std::string key;
    std::string client_ca;
    // A client with a certificate that client_ca has not signed counts as one without; otherwise
    // its handshake fails.
    bool accepts_strangers = false;

    friend bool operator==(const TlsServerPems&, const TlsServerPems&) = default;
};
// Errors: invalid_argument, with the file that cannot be used.
Result<SslContext> tls_server_context(const HttpTlsFiles& names, const TlsServerPems& pems);

}  // namespace tessera
