// The server's side of TLS: certificates from files or from a function, which refresh() asks for
// again, and handshakes that do not block.
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

    // `names`: what errors and logs call the PEM texts; no file is opened by these names. Errors:
    // those of the source, and invalid_argument for texts that cannot be used.
    static Result<std::unique_ptr<ServerTls>> open(Source source, const HttpTlsFiles& names);

    // Asks the source. New sessions use its texts if they have changed and can be used; else the
    // former ones stay in use, and each new reason is logged once. One thread at a time.
    void refresh();

    // Any thread may call the following functions.
    // Does not own `fd`, which is non-blocking and outlives the session.
    SslPtr new_session(int fd) const;
    // Whether the session was made with the certificates that are in use now.
    bool is_current(const SSL* session) const;
    // Logs why a client's certificate was rejected, if it was: at most one event in 10 s.
    void log_refused_client(const SSL* session);

  private:
    ServerTls(Source source, HttpTlsFiles names, TlsServerPems pems, SslContext context);

    const Source source_;
    const HttpTlsFiles names_;
    TlsServerPems in_use_;
    std::string fault_;  // the last logged fault, as long as it lasts
    mutable Mutex mutex_;
    std::shared_ptr<SSL_CTX> context_ TESSERA_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point silent_until_ TESSERA_GUARDED_BY(mutex_){};
};

// A source that reads these files, until two readings in a row are equal: the files of a Secret are
// replaced together. Errors: why a file cannot be read; unavailable if they change all the time.
ServerTls::Source source_of_files(const HttpTlsFiles& files);

enum class Handshake { done, wants_read, failed };
// Continues the handshake with the bytes received so far. wants_read: more bytes are needed.
// failed: also if the socket's send buffer is full.
Handshake continue_handshake(SSL* session);

// Whether the client's certificate was verified in the handshake and has not expired since.
bool has_valid_certificate(const SSL* session);
// The common name in the client's certificate, valid or not; empty if there is none.
std::string certificate_name(const SSL* session);

}  // namespace tessera
