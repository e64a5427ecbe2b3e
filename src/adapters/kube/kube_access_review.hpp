// The AccessReview port over HTTP: a TokenReview, then a SubjectAccessReview.
#pragma once

#include "adapters/http/http.hpp"
#include "ports/kube/access_review.hpp"

namespace tessera {

class KubeAccessReview final : public AccessReview {
  public:
    // `api`: the API server; outlives this.
    explicit KubeAccessReview(HttpClient& api) : http_(api) {}

    Result<Verdict> review(const std::string& token, AccessVerb verb,
                           std::string_view path) override;

  private:
    HttpClient& http_;
};

}  // namespace tessera
