#include "adapters/certificates/openssl_certificates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

#include "adapters/http/certificate.hpp"

namespace tessera {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Memory = std::unique_ptr<BIO, decltype(&BIO_free)>;

// Clocks of other machines may be behind.
constexpr std::int64_t kBackdatedS = 600;
constexpr long kVersion3 = 2;

tl::unexpected<Error> failed(std::string_view what) {
    std::array<char, 256> reason{};
    ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
    ERR_clear_error();
    return fail(Code::unavailable, fmt::format("cannot make {}: {}", what, reason.data()));
}

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

Memory reader_of(const std::string& pem) {
    return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()), X509_EXTENSION_free);
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
    bytes.front() &= 0x7fU;  // positive
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
        BN_bin2bn(bytes.data(), bytes.size(), nullptr), BN_free);
    return number != nullptr &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// A certificate for `key` without extensions and signature.
Certificate begin_certificate(EVP_PKEY* key, const std::string& name, std::int64_t now_s,
                              std::chrono::seconds valid_for) {
    Certificate out(X509_new(), X509_free);
    if (out == nullptr || !set_serial(out.get())) return {nullptr, X509_free};
    X509_set_version(out.get(), kVersion3);
    ASN1_TIME_set(X509_getm_notBefore(out.get()), now_s - kBackdatedS);
    ASN1_TIME_set(X509_getm_notAfter(out.get()), now_s + valid_for.count());
    X509_set_pubkey(out.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    return out;
}

Result<CertifiedKey> to_pem(X509* certificate, EVP_PKEY* key) {
    const Memory certificate_text(BIO_new(BIO_s_mem()), BIO_free);
    const Memory key_text(BIO_new(BIO_s_mem()), BIO_free);
    if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
        PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return failed("a certificate");
    return CertifiedKey{text_of(certificate_text.get()), text_of(key_text.get())};
}

Key new_key() {
    return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

}  // namespace

Result<CertifiedKey> OpensslCertificates::make_authority(const std::string& name,
                                                         std::int64_t now_s,
                                                         std::chrono::seconds valid_for) {
    const Key key = new_key();
    if (key == nullptr) return failed("a key");
    const Certificate made = begin_certificate(key.get(), name, now_s, valid_for);
    if (made == nullptr) return failed("a certificate");
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
    const bool is_made =
        add_extension(made.get(), made.get(), NID_basic_constraints,
                      "critical,CA:TRUE,pathlen:0") &&
        add_extension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign") &&
        add_extension(made.get(), made.get(), NID_subject_key_identifier, "hash") &&
        X509_sign(made.get(), key.get(), EVP_sha256()) > 0;
    if (!is_made) return failed("a certificate authority");
    return to_pem(made.get(), key.get());
}

Result<CertifiedKey> OpensslCertificates::sign_server(const CertifiedKey& authority,
                                                      const std::vector<std::string>& dns_names,
                                                      std::int64_t now_s,
                                                      std::chrono::seconds valid_for) {
    const Certificate issuer(
        PEM_read_bio_X509(reader_of(authority.certificate).get(), nullptr, nullptr, nullptr),
        X509_free);
    const Key issuer_key(
        PEM_read_bio_PrivateKey(reader_of(authority.key).get(), nullptr, nullptr, nullptr),
        EVP_PKEY_free);
    if (issuer == nullptr || issuer_key == nullptr ||
        X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
        ERR_clear_error();
        return fail(Code::corrupt, "the certificate authority and its key are no pair in PEM");
    }
    const Key key = new_key();
    if (key == nullptr) return failed("a key");
    const Certificate made = begin_certificate(key.get(), dns_names.front(), now_s, valid_for);
    if (made == nullptr) return failed("a certificate");
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
    const bool is_made =
        add_extension(made.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(made.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") &&
        add_extension(made.get(), issuer.get(), NID_ext_key_usage, "serverAuth") &&
        add_extension(made.get(), issuer.get(), NID_authority_key_identifier, "keyid") &&
        add_extension(made.get(), issuer.get(), NID_subject_alt_name,
                      fmt::format("DNS:{}", fmt::join(dns_names, ",DNS:"))) &&
        X509_sign(made.get(), issuer_key.get(), EVP_sha256()) > 0;
    if (!is_made) return failed("a server's certificate");
    return to_pem(made.get(), key.get());
}

Result<std::int64_t> OpensslCertificates::end_of(const std::string& certificate) {
    return certificate_end(certificate);
}

}  // namespace tessera
