// The server's side of TLS: certificates from files that are read again when they change, and a
// handshake that waits for nobody.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "adapters/http/http.hpp"
#include "adapters/http/tls.hpp"

namespace tessera {

class ServerTls {
  public:
    // As check_tls_files.
    static Result<std::unique_ptr<ServerTls>> open(const HttpTlsFiles& files);

    // Takes over what is in the files now, or logs why it cannot be used. By one thread at a time.
    void refresh();

    // All of these by any thread.
    SslPtr new_session(int fd) const;
    // Whether the certificates have not changed since the session began.
    bool is_current(const SSL* session) const;
    // Logs why the certificate of a client was not believed; now and then, where there are many.
    void complain_of_client(const SSL* session);

  private:
    ServerTls(HttpTlsFiles files, TlsServerPems pems, SslContext context);

    const HttpTlsFiles files_;
    TlsServerPems in_force_;
    std::string fault_;  // that was logged, while it lasts
    mutable std::mutex mutex_;
    std::shared_ptr<SSL_CTX> context_;  // guarded by mutex_, like the next
    std::chrono::steady_clock::time_point silent_until_{};
};

enum class Handshake { done, waits, failed };
// Goes on with what has come. `waits`: the client's next bytes are needed.
Handshake shake_hands(SSL* session);

// Whether the client has shown a certificate, which was believed, that has not ended meanwhile.
bool has_good_certificate(const SSL* session);

}  // namespace tessera
