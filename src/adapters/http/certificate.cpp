#include "adapters/http/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

namespace tessera {

Result<std::int64_t> certificate_end(const std::string& pem) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free);
    std::tm end{};
    if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
        return fail(Code::corrupt, "is no certificate in PEM form");
    return ::timegm(&end);
}

}  // namespace tessera
