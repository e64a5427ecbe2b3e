// The objects of the API server by which a program behind a Service gets certificates that its
// clients trust. One is the Secret with its certificate authority. The clients have another: the
// admission webhook's configuration, by which the API server trusts it, or a ConfigMap. Each call
// ends by its own deadline.
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

    // Makes the clients trust these certificates. Writes only if they do not. not_found if there is
    // no object of the clients.
    virtual Result<> trust(const std::string& certificates) = 0;
};

}  // namespace tessera
