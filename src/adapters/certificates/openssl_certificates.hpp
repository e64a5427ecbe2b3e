// The CertificateMaker port with OpenSSL: keys on P-256, signatures with SHA-256.
#pragma once

#include "ports/certificates.hpp"

namespace tessera {

class OpensslCertificates final : public CertificateMaker {
  public:
    Result<CertifiedKey> make_authority(const std::string& name, std::int64_t now_s,
                                        std::chrono::seconds valid_for) override;
    Result<CertifiedKey> sign_server(const CertifiedKey& authority,
                                     const std::vector<std::string>& dns_names, std::int64_t now_s,
                                     std::chrono::seconds valid_for) override;
    Result<std::int64_t> end_of(const std::string& certificate) override;
};

}  // namespace tessera
