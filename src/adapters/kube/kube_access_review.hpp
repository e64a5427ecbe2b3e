// The AccessReview port over HTTP: a TokenReview, then a SubjectAccessReview.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "adapters/http/http.hpp"
#include "ports/kube/access_review.hpp"
#include "wire/kube/access_review_json.hpp"

namespace tessera {

class KubeAccessReview final : public AccessReview {
  public:
    // `api`: the API server; outlives this. `audience`: tokens for this program alone count, too,
    // and are tried first; empty: only tokens for the API server.
    explicit KubeAccessReview(HttpClient& api, std::string audience = "")
        : http_(api), audience_(std::move(audience)) {}

    Result<Verdict> review(const std::string& token, AccessVerb verb,
                           std::string_view path) override;

  private:
    // Nothing: the token is not valid.
    Result<std::optional<ReviewedUser>> find_user(const std::string& token);

    HttpClient& http_;
    const std::string audience_;
};

}  // namespace tessera
