// The server's side of TLS: certificates from files or from the program, which are read again when
// they change, and handshakes that do not block.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "adapters/http/http.hpp"
#include "adapters/http/socket_stream.hpp"
#include "adapters/http/tls.hpp"
#include "base/mutex.hpp"

namespace tessera {

class ServerTls {
  public:
    using Source = std::function<Result<TlsServerPems>()>;

    // `names`: what errors and logs call the texts. Errors are those of the source, and
    // invalid_argument.
    static Result<std::unique_ptr<ServerTls>> open(Source source, const HttpTlsFiles& names);

    // Asks the source and uses its texts from now on, or logs why they cannot be used. One thread
    // at a time.
    void refresh();

    // Any thread may call the following functions.
    SslPtr new_session(int fd) const;
    // Whether the certificates have not changed since the session began.
    bool is_current(const SSL* session) const;
    // Logs why a client's certificate was rejected. The rate of the logs is limited.
    void log_refused_client(const SSL* session);

  private:
    ServerTls(Source source, HttpTlsFiles names, TlsServerPems pems, SslContext context);

    const Source source_;
    const HttpTlsFiles names_;
    TlsServerPems in_force_;
    std::string fault_;  // the last logged fault, as long as it lasts
    mutable Mutex mutex_;
    std::shared_ptr<SSL_CTX> context_ TESSERA_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point silent_until_ TESSERA_GUARDED_BY(mutex_){};
};

// The texts of files that are replaced together. Errors as check_tls_files.
ServerTls::Source source_of(const HttpTlsFiles& files);

enum class Handshake { done, waits, failed };
// Continues the handshake with the bytes received so far. `waits`: more bytes are needed.
Handshake shake_hands(SSL* session);

// Whether the client has a verified certificate that has not expired since.
bool has_good_certificate(const SSL* session);

}  // namespace tessera
