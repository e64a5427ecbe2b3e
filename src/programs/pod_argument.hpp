// A pod as users name it on a command line.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// "NAME" or, as kubectl names it, "pod/NAME". invalid_argument, naming `what` or --namespace.
Result<PodName> pod_argument(const std::string& what, std::string text, const std::string& space);

// Whether they can be names, before anybody is asked; an empty `space` is told later.
Result<> check_pod_argument(const std::string& what, const std::string& text,
                            const std::string& space);

}  // namespace tessera
