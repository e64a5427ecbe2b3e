// Asks the cluster what the bearer of a token may do with a path.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

enum class Verdict {
    granted,
    denied,   // the token is valid, but its bearer may not use the path so
    unknown,  // the token is not valid
};

// The verbs of RBAC for paths.
enum class AccessVerb { get, post };

inline std::string_view to_string(AccessVerb verb) {
    return verb == AccessVerb::get ? "get" : "post";
}

class AccessReview {
  public:
    virtual ~AccessReview() = default;

    // Whether the bearer of `token` may use `path`, a nonResourceURL, with `verb`. Any thread may
    // call. Each call ends by its own deadline. unavailable or permission_denied: the API server
    // gave no answer.
    virtual Result<Verdict> review(const std::string& token, AccessVerb verb,
                                   std::string_view path) = 0;
};

}  // namespace tessera
