// A pod as users name it on the command line.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// Parses "NAME" or, as kubectl writes it, "pod/NAME". invalid_argument names `what` or --namespace.
Result<PodName> pod_argument(const std::string& what, std::string text, const std::string& ns);

// Checks that the names are valid without contacting the cluster. An empty `ns` is checked later.
Result<> check_pod_argument(const std::string& what, const std::string& text,
                            const std::string& ns);

}  // namespace tessera
