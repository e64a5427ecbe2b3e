// What the chart tells all users of a cluster: the ConfigMap tessera in the namespace kube-public.
#pragma once

#include <string>

#include "adapters/http/http.hpp"

namespace tessera {

// The image of tessera-controller. Errors: not_found and permission_denied name the flag
// --mpi-shell-image as the fix.
Result<std::string> read_tessera_image(HttpClient& http);

}  // namespace tessera
