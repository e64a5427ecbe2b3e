// Who may read what: the cluster's own judgement.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

enum class Verdict {
    granted,
    denied,   // the token is somebody's, who may not
    unknown,  // the token is nobody's
};

class AccessReview {
  public:
    virtual ~AccessReview() = default;

    // Whether the bearer of `token` may get `path`, which is no path of a resource. Any thread may
    // call; ends by its own deadline. unavailable or permission_denied: nobody can say.
    virtual Result<Verdict> review(const std::string& token, std::string_view path) = 0;
};

}  // namespace tessera
