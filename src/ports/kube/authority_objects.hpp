// The objects of the API server by which a program behind a Service gets certificates that its
// clients trust. One is the Secret with its certificate authority. The admission webhook also has
// the configuration that names the certificates that the API server trusts. Each call ends by its
// own deadline.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "domain/admission/authority_secret.hpp"

namespace tessera {

class AuthorityObjects {
  public:
    virtual ~AuthorityObjects() = default;

    // Nothing if there is no such Secret. Keys that it lacks are empty.
    virtual Result<std::optional<AuthoritySecret>> read_authority() = 0;
    // Replaces exactly the version that it names, or creates the Secret. conflict: another replica
    // was faster.
    virtual Result<> write_authority(const AuthoritySecret& secret) = 0;

    // Makes the webhooks of the configuration trust these certificates. Writes only if they do not.
    // not_found if there is no such configuration. Without webhooks it does nothing.
    virtual Result<> trust(const std::string& certificates) = 0;
};

}  // namespace tessera
