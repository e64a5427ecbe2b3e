#include "adapters/certificates/openssl_certificates.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>

namespace tessera {
namespace {

using std::chrono::hours;

constexpr std::int64_t kNow = 1'800'000'000;

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate read(const std::string& pem) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
    return {PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free};
}

// Whether a TLS client that trusts the authority accepts the server under this name at that time.
bool accepts(const CertifiedKey& authority, const CertifiedKey& server, const std::string& name,
             std::int64_t at_s) {
    const Certificate trusted = read(authority.certificate);
    const Certificate shown = read(server.certificate);
    const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                        X509_STORE_free);
    X509_STORE_add_cert(store.get(), trusted.get());
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
        X509_STORE_CTX_new(), X509_STORE_CTX_free);
    X509_STORE_CTX_init(context.get(), store.get(), shown.get(), nullptr);
    X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size());
    X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER);
    X509_VERIFY_PARAM_set_time(rules, at_s);
    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
    return X509_verify_cert(context.get()) == 1;
}

// Goal: a strict client accepts a certificate for each of its names, from some minutes before it
// was made until its end, and only if it trusts the authority that signed it.
TEST(OpensslCertificates, AreAccepted) {
    OpensslCertificates maker;
    const auto authority = maker.make_authority("tessera", kNow, hours(240));
    ASSERT_TRUE(authority) << authority.error().text;
    const auto server = maker.sign_server(
        *authority, {"tessera-controller.ns.svc", "tessera-controller.ns"}, kNow, hours(24));
    ASSERT_TRUE(server) << server.error().text;
    for (const char* name : {"tessera-controller.ns.svc", "tessera-controller.ns"})
        EXPECT_TRUE(accepts(*authority, *server, name, kNow)) << name;
    EXPECT_FALSE(accepts(*authority, *server, "other.ns.svc", kNow));
    EXPECT_TRUE(accepts(*authority, *server, "tessera-controller.ns", kNow - 300));
    EXPECT_FALSE(accepts(*authority, *server, "tessera-controller.ns", kNow - 3'600));
    EXPECT_FALSE(
        accepts(*authority, *server, "tessera-controller.ns", kNow + std::int64_t{25} * 3'600));
    const auto other = maker.make_authority("tessera", kNow, hours(240));
    ASSERT_TRUE(other);
    EXPECT_FALSE(accepts(*other, *server, "tessera-controller.ns", kNow));
    EXPECT_NE(authority->key, other->key);
}

// Goal: the end of a certificate is the time that was asked for.
TEST(OpensslCertificates, End) {
    OpensslCertificates maker;
    const auto authority = maker.make_authority("tessera", kNow, hours(240));
    ASSERT_TRUE(authority);
    EXPECT_EQ(maker.end_of(authority->certificate).value_or(0), kNow + std::int64_t{240} * 3'600);
    EXPECT_FALSE(maker.end_of("no certificate"));
}

// Goal: an authority that is damaged, or whose key belongs to another one, is an error.
TEST(OpensslCertificates, DamagedAuthority) {
    OpensslCertificates maker;
    const auto one = maker.make_authority("one", kNow, hours(1));
    const auto other = maker.make_authority("other", kNow, hours(1));
    ASSERT_TRUE(one && other);
    const auto code = [&](const std::string& certificate, const std::string& key) {
        const auto signed_by = maker.sign_server({certificate, key}, {"a"}, kNow, hours(1));
        return signed_by ? Code::conflict : signed_by.error().code;
    };
    EXPECT_EQ(code(one->certificate, other->key), Code::corrupt);
    EXPECT_EQ(code("", one->key), Code::corrupt);
    EXPECT_EQ(code(one->certificate, ""), Code::corrupt);
    EXPECT_EQ(code(one->certificate, one->key.substr(0, 80)), Code::corrupt);
}

}  // namespace
}  // namespace tessera
