#include "adapters/http/server_tls.hpp"

#include <fmt/chrono.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <ctime>
#include <utility>

#include "adapters/http/certificate.hpp"
#include "adapters/os/text_file.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr int kReadings = 5;
constexpr std::chrono::seconds kBetweenComplaints{10};

Result<TlsServerPems> read_once(const HttpTlsFiles& files) {
    TlsServerPems out;
    TRY(out.certificate, read_text_file(files.certificate));
    TRY(out.key, read_text_file(files.key));
    if (!files.client_ca.empty()) {
        TRY(out.client_ca, read_text_file(files.client_ca));
    }
    return out;
}

// Reads a consistent set: the files of a Secret are replaced together.
Result<TlsServerPems> read(const HttpTlsFiles& files) {
    TRY(TlsServerPems before, read_once(files));
    for (int i = 0; i < kReadings; ++i) {
        TRY(TlsServerPems after, read_once(files));
        if (before == after) return after;
        before = std::move(after);
    }
    return fail(Code::unavailable, files.certificate + ": changes while it is read");
}

Result<SslContext> use(const HttpTlsFiles& names, const Result<TlsServerPems>& pems) {
    if (!pems) return fail(pems.error());
    return tls_server_context(names, *pems);
}

// The text must be in use, so it contains a certificate.
std::string end_of(const TlsServerPems& pems) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(static_cast<std::time_t>(*certificate_end(pems.certificate))));
}

}  // namespace

ServerTls::ServerTls(Source source, HttpTlsFiles names, TlsServerPems pems, SslContext context)
    : source_(std::move(source)),
      names_(std::move(names)),
      in_use_(std::move(pems)),
      context_(std::move(context)) {}

ServerTls::Source source_of_files(const HttpTlsFiles& files) {
    return [files] { return read(files); };
}

Result<std::unique_ptr<ServerTls>> ServerTls::open(Source source, const HttpTlsFiles& names) {
    TRY(TlsServerPems pems, source());
    TRY(SslContext context, tls_server_context(names, pems));
    return std::unique_ptr<ServerTls>(
        new ServerTls(std::move(source), names, std::move(pems), std::move(context)));
}

void ServerTls::refresh() {
    auto pems = source_();
    if (pems && *pems == in_use_) {
        fault_.clear();
        return;
    }
    auto context = use(names_, pems);
    if (!context) {
        const std::string& reason = context.error().text;
        if (reason != fault_) log_event(Event::certificate_error, {{"reason", reason}});
        fault_ = reason;
        return;
    }
    log_event(Event::certificate_renewed,
              {{"file", names_.certificate}, {"good_until", end_of(*pems)}});
    in_use_ = *std::move(pems);
    fault_.clear();
    const MutexLock lock(mutex_);
    context_ = *std::move(context);
}

SslPtr ServerTls::new_session(int fd) const {
    const MutexLock lock(mutex_);
    SslPtr session(SSL_new(context_.get()));
    SSL_set_fd(session.get(), fd);
    SSL_set_accept_state(session.get());
    return session;
}

bool ServerTls::is_current(const SSL* session) const {
    const MutexLock lock(mutex_);
    return SSL_get_SSL_CTX(session) == context_.get();
}

void ServerTls::log_refused_client(const SSL* session) {
    const long verdict = SSL_get_verify_result(session);
    if (verdict == X509_V_OK) return;  // the handshake did not reach the verification
    const auto now = std::chrono::steady_clock::now();
    {
        const MutexLock lock(mutex_);
        if (now < silent_until_) return;
        silent_until_ = now + kBetweenComplaints;
    }
    log_event(Event::client_refused, {{"reason", X509_verify_cert_error_string(verdict)}});
}

Handshake continue_handshake(SSL* session) {
    ERR_clear_error();
    const int done = SSL_do_handshake(session);
    if (done == 1) return Handshake::done;
    // Our messages fit any socket's send buffer. If it is full, the client has not read for a long
    // time.
    const bool waits = SSL_get_error(session, done) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return waits ? Handshake::wants_read : Handshake::failed;
}

bool has_valid_certificate(const SSL* session) {
    const X509* shown = SSL_get0_peer_certificate(session);
    return shown != nullptr && SSL_get_verify_result(session) == X509_V_OK &&
           X509_cmp_current_time(X509_get0_notAfter(shown)) > 0;
}

std::string certificate_name(const SSL* session) {
    const X509* shown = SSL_get0_peer_certificate(session);
    if (shown == nullptr) return {};
    const X509_NAME* subject = X509_get_subject_name(shown);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    const X509_NAME_ENTRY* entry = at < 0 ? nullptr : X509_NAME_get_entry(subject, at);
    if (entry == nullptr) return {};
    const ASN1_STRING* text = X509_NAME_ENTRY_get_data(entry);
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

Result<> check_tls_files(const HttpTlsFiles& files) {
    TRY_VOID(ServerTls::open(source_of_files(files), files));
    return {};
}

}  // namespace tessera
