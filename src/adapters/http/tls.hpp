// TLS contexts of both sides: whom to believe, and who we are. By OpenSSL itself, since the library
// takes file names only and no chain. From the first one on the process ignores SIGPIPE.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "adapters/http/http.hpp"
#include "adapters/http/socket_stream.hpp"

namespace tessera {

struct SslContextDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
// Null for an endpoint without TLS.
using SslContext = std::unique_ptr<SSL_CTX, SslContextDeleter>;

// invalid_argument, naming the PEM text that cannot be used.
Result<SslContext> tls_context(const HttpEndpoint& endpoint);

// A session that knows which name the server has to prove.
SslPtr tls_session(SSL_CTX* context, const HttpEndpoint& endpoint);

// What is in the files of a server.
struct TlsServerPems {
    std::string certificate;
    std::string key;
    std::string client_ca;

    friend bool operator==(const TlsServerPems&, const TlsServerPems&) = default;
};
// invalid_argument, naming the file whose text cannot be used.
Result<SslContext> tls_server_context(const HttpTlsFiles& names, const TlsServerPems& pems);

}  // namespace tessera
