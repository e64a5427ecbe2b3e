// Whether a client's bearer token allows a request. The verdicts of the API server are remembered
// for a while, so that a client which calls often costs few reviews.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "app/common/route_answer.hpp"
#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "ports/kube/access_review.hpp"

namespace tessera {

struct TokenMemory {
    std::chrono::seconds granted_for{60};
    std::size_t most = 1'024;  // verdicts
};

// Thread-safe. A token that cannot be reviewed gets no access.
class TokenReviews {
  public:
    static constexpr std::chrono::seconds kRefusedFor{10};
    // For tokens that were never good: concurrent reviews, and reviews per second.
    static constexpr int kMostReviews = 4;
    static constexpr int kMostNewReviewsPerSecond = 50;

    // The references outlive this.
    TokenReviews(AccessReview& review, Clock& clock, TokenMemory keep = {})
        : review_(review), clock_(clock), keep_(keep) {}

    // Returns nothing if the token's owner may do this, else the answer that refuses the request.
    // `path` is of a table of routes: it lives as long as this.
    std::optional<RouteAnswer> refuse(const std::string& token, AccessVerb verb,
                                      std::string_view path);

  private:
    struct Memory {
        Verdict verdict;
        std::chrono::nanoseconds until;
    };
    struct Key {
        std::string token;
        AccessVerb verb;
        std::string_view path;
        auto operator<=>(const Key&) const = default;
    };

    Result<Verdict> judge(const Key& key);
    std::optional<Verdict> recall(const Key& key);
    bool was_granted(const Key& key);
    bool may_request_for_others();
    void remember(const Key& key, Verdict verdict);

    AccessReview& review_;
    Clock& clock_;
    const TokenMemory keep_;
    std::atomic<int> reviews_ = 0;
    Mutex mutex_;
    std::map<Key, Memory> memory_ TESSERA_GUARDED_BY(mutex_);
    // No free review slot until then.
    std::chrono::nanoseconds silent_until_ TESSERA_GUARDED_BY(mutex_){0};
    std::chrono::nanoseconds second_ends_ TESSERA_GUARDED_BY(mutex_){0};
    int asked_this_second_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
