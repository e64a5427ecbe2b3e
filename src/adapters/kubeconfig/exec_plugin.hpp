// Credentials from a program, as EKS, GKE, AKS and OIDC providers have them in a kubeconfig (`exec`
// of a user). client-go's rules: the program runs before the first request, again when what it gave
// has expired, and after the server has answered 401.
#pragma once

#include <yaml-cpp/yaml.h>

#include <memory>
#include <string>

#include "adapters/http/http.hpp"

namespace tessera {

// `exec`: that of the user. `cluster`: the entry of the cluster, for plugins that want to know it.
// `directory`: the folder for a relative path of the program. Does not run it. Errors:
// invalid_argument, with the field.
Result<std::shared_ptr<HttpCredentialSource>> exec_plugin(const YAML::Node& exec,
                                                          const YAML::Node& cluster,
                                                          const std::string& directory);

}  // namespace tessera
