#include "adapters/kube/kube_access_review.hpp"

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/access_review_json.hpp"

namespace tessera {
namespace {

// For each of the two reviews.
constexpr std::chrono::milliseconds kDeadline{2'000};

}  // namespace

Result<Verdict> KubeAccessReview::review(const std::string& token, AccessVerb verb,
                                         std::string_view path) {
    TRY(const auto who, kube_review(http_, "/apis/authentication.k8s.io/v1/tokenreviews",
                                    write_token_review(token), kDeadline));
    const auto user = read_token_review(who.root());
    if (!user) return Verdict::unknown;
    TRY(const auto may,
        kube_review(http_, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                    write_access_review(*user, {.verb = to_string(verb), .path = path}),
                    kDeadline));
    return read_access_review(may.root()) ? Verdict::granted : Verdict::denied;
}

}  // namespace tessera
