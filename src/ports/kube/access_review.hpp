// Asks the cluster which paths the bearer of a token may read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

enum class Verdict {
    granted,
    denied,   // the token is valid, but its bearer may not read the path
    unknown,  // the token is not valid
};

class AccessReview {
  public:
    virtual ~AccessReview() = default;

    // Whether the bearer of `token` may get `path`, a nonResourceURL. Any thread may call. Each
    // call ends by its own deadline. unavailable or permission_denied: the API server gave no
    // answer.
    virtual Result<Verdict> review(const std::string& token, std::string_view path) = 0;
};

}  // namespace tessera
