// The API server's reviews of a caller's identity (TokenReview) and of its rights
// (SubjectAccessReview): authentication.k8s.io/v1 and authorization.k8s.io/v1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/text/json.hpp"

namespace tessera {

// The user that the API server found for a token.
struct ReviewedUser {
    std::string name;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;

    friend bool operator==(const ReviewedUser&, const ReviewedUser&) = default;
};

// `token` must be UTF-8. `audience`: the program that the token must be for; empty: the API server.
std::string write_token_review(std::string_view token, std::string_view audience);
// Reads the answer to a review with the same audience. Nothing unless it says explicitly that the
// token is authenticated, and is for the audience: an API server that knows no audiences does not
// say that.
std::optional<ReviewedUser> read_token_review(JsonValue answer, std::string_view audience);

// Asks which user the caller is (SelfSubjectReview, from Kubernetes 1.28 on).
std::string write_self_review();
// Reads the answer. Nothing unless it names a user.
std::optional<ReviewedUser> read_self_review(JsonValue answer);
// Asks whether the caller may do everything (SelfSubjectAccessReview); read_access_review() reads
// the answer.
std::string write_admin_review();

// A request for a non-resource path.
struct PathRequest {
    std::string_view verb;  // of RBAC: "get", "post"
    std::string_view path;
};

// Asks whether the user may do that.
std::string write_access_review(const ReviewedUser& user, const PathRequest& request);
// Reads the answer. False unless it says explicitly that the user is allowed.
bool read_access_review(JsonValue answer);

}  // namespace tessera
