// A temporary authority and a TLS server, made with OpenSSL in the test.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "adapters/http/raw_peer_test.hpp"

namespace tessera {

using TestKey = std::shared_ptr<EVP_PKEY>;
using TestCertificate = std::shared_ptr<X509>;

// A certificate with its key.
struct Identity {
    static constexpr std::chrono::seconds kHour{3600};

    TestKey key;
    TestCertificate certificate;

    // Signed by `issuer`, or by itself. `names` as in X.509: "DNS:a,IP:127.0.0.1"; an authority has
    // none.
    static Identity make(const std::string& common_name, const Identity* issuer,
                         const std::string& names, std::chrono::seconds good_for = kHour) {
        Identity out{TestKey(EVP_EC_gen("P-256"), EVP_PKEY_free),
                     TestCertificate(X509_new(), X509_free)};
        X509* made = out.certificate.get();
        const Identity& by = issuer == nullptr ? out : *issuer;
        static long serial = 1;
        X509_set_version(made, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(made), serial++);
        X509_gmtime_adj(X509_getm_notBefore(made), -3600);
        X509_gmtime_adj(X509_getm_notAfter(made), good_for.count());
        X509_set_pubkey(made, out.key.get());
        X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                                   -1, 0);
        X509_set_issuer_name(made, X509_get_subject_name(by.certificate.get()));
        out.extend(NID_basic_constraints, names.empty() ? "critical,CA:TRUE" : "critical,CA:FALSE");
        if (!names.empty()) out.extend(NID_subject_alt_name, names.c_str());
        EXPECT_NE(X509_sign(made, by.key.get(), EVP_sha256()), 0);
        return out;
    }

    [[nodiscard]] std::string certificate_pem() const {
        return text([&](BIO* bio) { PEM_write_bio_X509(bio, certificate.get()); });
    }
    [[nodiscard]] std::string key_pem() const {
        return text([&](BIO* bio) {
            PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        });
    }

  private:
    void extend(int kind, const char* value) const {
        X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
        X509_add_ext(certificate.get(), made, -1);
        X509_EXTENSION_free(made);
    }
    static std::string text(const std::function<void(BIO*)>& write) {
        BIO* bio = BIO_new(BIO_s_mem());
        write(bio);
        char* data = nullptr;
        const long size = BIO_get_mem_data(bio, &data);
        std::string out(data, static_cast<std::size_t>(size));
        BIO_free(bio);
        return out;
    }
};

// Answers each connection's first request with the common name of the client's certificate, or
// "anonymous" if there is none. If `clients` is given, requires a certificate that these
// authorities have signed.
class TlsServer {
  public:
    explicit TlsServer(const Identity& own, const Identity* clients = nullptr)
        : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
        SSL_CTX_use_certificate(context_.get(), own.certificate.get());
        SSL_CTX_use_PrivateKey(context_.get(), own.key.get());
        if (clients != nullptr) {
            SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
            X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), clients->certificate.get());
        }
        thread_ = std::thread([this] { serve(); });
    }
    ~TlsServer() {
        ending_ = true;
        RawPeer::connect(port());
        thread_.join();
    }
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;

    [[nodiscard]] int port() const { return listener_.port(); }

  private:
    void serve() {
        while (true) {
            const RawPeer peer = listener_.accept();
            if (ending_) return;
            const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context_.get()), SSL_free);
            SSL_set_fd(ssl.get(), peer.fd());
            if (SSL_accept(ssl.get()) == 1) answer(ssl.get());
        }
    }
    static void answer(SSL* ssl) {
        std::string request;
        std::array<char, 4096> buffer{};
        while (request.find("\r\n\r\n") == std::string::npos) {
            const int got = SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size()));
            if (got <= 0) return;
            request.append(buffer.data(), static_cast<std::size_t>(got));
        }
        std::string name = "anonymous";
        if (X509* client = SSL_get1_peer_certificate(ssl)) {
            X509_NAME_get_text_by_NID(X509_get_subject_name(client), NID_commonName, buffer.data(),
                                      static_cast<int>(buffer.size()));
            name = buffer.data();
            X509_free(client);
        }
        const std::string text = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
                                 std::to_string(name.size()) + "\r\n\r\n" + name;
        SSL_write(ssl, text.data(), static_cast<int>(text.size()));
        SSL_shutdown(ssl);
    }

    const RawListener listener_;
    const std::shared_ptr<SSL_CTX> context_;
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

}  // namespace tessera
