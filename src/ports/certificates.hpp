// X.509 certificates for servers of ours: an authority that is made once, and certificates that it
// signs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// Both in PEM.
struct CertifiedKey {
    std::string certificate;
    std::string key;  // private

    friend bool operator==(const CertifiedKey&, const CertifiedKey&) = default;
};

class CertificateMaker {
  public:
    virtual ~CertificateMaker() = default;

    // A new authority, valid from some minutes before `now_s` (seconds since 1970), because clocks
    // differ. unavailable if the machine has no random numbers.
    virtual Result<CertifiedKey> make_authority(const std::string& name, std::int64_t now_s,
                                                std::chrono::seconds valid_for) = 0;
    // A server's certificate for these DNS names, the first of which is also its common name.
    // corrupt if the authority cannot be read or its key does not fit.
    virtual Result<CertifiedKey> sign_server(const CertifiedKey& authority,
                                             const std::vector<std::string>& dns_names,
                                             std::int64_t now_s,
                                             std::chrono::seconds valid_for) = 0;
    // When the first certificate of a PEM text expires, in seconds since 1970. corrupt if there is
    // none.
    virtual Result<std::int64_t> end_of(const std::string& certificate) = 0;
};

}  // namespace tessera
