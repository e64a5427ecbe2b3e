#include "adapters/http/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <mutex>

namespace tessera {
namespace {

struct BioDeleter {
    void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;
struct X509Deleter {
    void operator()(X509* certificate) const { X509_free(certificate); }
};
using X509Ptr = std::unique_ptr<X509, X509Deleter>;
struct KeyDeleter {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyDeleter>;

BioPtr read_only(const std::string& pem) {
    return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A PEM text, and its name in errors.
struct NamedPem {
    std::string_view name;
    const std::string& pem;
};

tl::unexpected<Error> bad(std::string_view name, std::string_view what) {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    std::string text = fmt::format("{}: {}", name, what);
    if (reason != nullptr) text += fmt::format(" ({})", reason);
    ERR_clear_error();
    return fail(Code::invalid_argument, std::move(text));
}

// Without this callback, an encrypted key would ask for its password on the terminal.
int no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*user*/) {
    return -1;
}

X509Ptr next_certificate(BIO* bio) {
    return X509Ptr(PEM_read_bio_X509(bio, nullptr, no_password, nullptr));
}

// Whether reading stopped at the end of the text, and not at an error.
bool at_the_end() {
    const unsigned long error = ERR_peek_last_error();
    const bool ended = error == 0 || (ERR_GET_LIB(error) == ERR_LIB_PEM &&
                                      ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
    if (ended) ERR_clear_error();
    return ended;
}

// Trusts certificates that these authorities have signed.
Result<> trust(SSL_CTX* context, const NamedPem& authorities) {
    const BioPtr bio = read_only(authorities.pem);
    int count = 0;
    while (const X509Ptr authority = next_certificate(bio.get())) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
        ++count;
    }
    if (!at_the_end() || count == 0) {
        return bad(authorities.name, "is not a list of PEM certificates");
    }
    // An authority of the user's may stand in the middle of a chain.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    return {};
}

// has_valid_certificate() sees the verdict, which this does not change.
int accept_any(int /*is_valid*/, X509_STORE_CTX* /*certificates*/) {
    return 1;
}

Result<> identify(SSL_CTX* context, const NamedPem& chain, const NamedPem& key_text) {
    const BioPtr certificates = read_only(chain.pem);
    const X509Ptr own = next_certificate(certificates.get());
    if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
        return bad(chain.name, "is not a PEM certificate");
    }
    while (const X509Ptr issuer = next_certificate(certificates.get())) {
        SSL_CTX_add1_chain_cert(context, issuer.get());
    }
    if (!at_the_end()) return bad(chain.name, "its chain is not PEM certificates");
    const BioPtr key_bio = read_only(key_text.pem);
    const KeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, nullptr));
    if (!key) return bad(key_text.name, "is not an unencrypted PEM key");
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
        return bad(key_text.name, fmt::format("does not belong to {}", chain.name));
    }
    return {};
}

SslContext new_context(const SSL_METHOD* method) {
    // OpenSSL writes to sockets as to files, which raises SIGPIPE.
    static std::once_flag once;
    std::call_once(once, [] { std::signal(SIGPIPE, SIG_IGN); });
    ERR_clear_error();
    SslContext context(SSL_CTX_new(method));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(context.get(), SSL_MODE_AUTO_RETRY);
    return context;
}

}  // namespace

Result<SslContext> tls_server_context(const HttpTlsFiles& names, const TlsServerPems& pems) {
    SslContext context = new_context(TLS_server_method());
    // Every connection must show its certificates: a resumed session would be trusted by those of
    // the earlier one.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context.get(), 0);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    // Hundreds of connections are idle.
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
    TRY_VOID(identify(context.get(), {names.certificate, pems.certificate}, {names.key, pems.key}));
    if (!pems.client_ca.empty()) {
        TRY_VOID(trust(context.get(), {names.client_ca, pems.client_ca}));
        // A client without a certificate is accepted here, because some routes require none.
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER,
                           pems.accepts_strangers ? accept_any : nullptr);
    }
    return context;
}

Result<> check_credentials(const HttpEndpoint& endpoint) {
    if (!endpoint.tls) return {};
    const SslContext context = new_context(TLS_client_method());
    if (!endpoint.ca_pem.empty())
        TRY_VOID(trust(context.get(), {"certificate-authority", endpoint.ca_pem}));
    if (endpoint.client_cert_pem.empty()) return {};
    return identify(context.get(), {"client-certificate", endpoint.client_cert_pem},
                    {"client-key", endpoint.client_key_pem});
}

}  // namespace tessera
