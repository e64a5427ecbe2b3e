#include "adapters/kube/kube_access_review.hpp"

#include <utility>
#include <vector>

#include "adapters/kube/kube_call.hpp"

namespace tessera {
namespace {

// For each of the two reviews.
constexpr std::chrono::milliseconds kDeadline{2'000};

}  // namespace

Result<std::optional<ReviewedUser>> KubeAccessReview::find_user(const std::string& token) {
    std::vector<std::string> audiences{""};
    if (!audience_.empty()) audiences.insert(audiences.begin(), audience_);
    for (const std::string& audience : audiences) {
        TRY(const auto who, kube_review(http_, "/apis/authentication.k8s.io/v1/tokenreviews",
                                        write_token_review(token, audience), kDeadline));
        auto user = read_token_review(who.root(), audience);
        if (user) return user;
    }
    return std::nullopt;
}

Result<Verdict> KubeAccessReview::review(const std::string& token, AccessVerb verb,
                                         std::string_view path) {
    TRY(const auto user, find_user(token));
    if (!user) return Verdict::unknown;
    TRY(const auto may,
        kube_review(http_, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                    write_access_review(*user, {.verb = to_string(verb), .path = path}),
                    kDeadline));
    return read_access_review(may.root()) ? Verdict::granted : Verdict::denied;
}

}  // namespace tessera
