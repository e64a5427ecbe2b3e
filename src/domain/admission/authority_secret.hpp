// The certificate authority of a Service, such as that of the admission webhook, as its Secret has
// it.
#pragma once

#include <string>

namespace tessera {

// A Secret of the type Opaque, with the keys ca.crt and ca.key.
struct AuthoritySecret {
    // PEM: first the certificate of `key`, then those of earlier authorities that may still be in
    // use.
    std::string certificates;
    std::string key;      // PEM
    std::string version;  // resourceVersion; empty: there is none yet

    friend bool operator==(const AuthoritySecret&, const AuthoritySecret&) = default;
};

}  // namespace tessera
