// TLS towards one server: whom to believe, and who we are. By OpenSSL itself, since the library's
// client takes file names only and no chain.
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

}  // namespace tessera
