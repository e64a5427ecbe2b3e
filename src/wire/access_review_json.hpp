// The API server's reviews of who somebody is (TokenReview) and of what he may do
// (SubjectAccessReview): authentication.k8s.io/v1 and authorization.k8s.io/v1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.hpp"

namespace tessera {

// Who the API server takes somebody for.
struct ReviewedUser {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;

    friend bool operator==(const ReviewedUser&, const ReviewedUser&) = default;
};

// `token` is UTF-8.
std::string write_token_review(std::string_view token);
// Of the answer; nothing unless it says in so many words that the token is somebody's.
std::optional<ReviewedUser> read_token_review(JsonValue answer);

// Asks whether he may get `path`, which is no path of a resource.
std::string write_access_review(const ReviewedUser& user, std::string_view path);
// Of the answer; false unless it says in so many words that he may.
bool read_access_review(JsonValue answer);

}  // namespace tessera
