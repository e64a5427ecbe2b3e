#include "app/common/token_reviews.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kBetweenComplaints{10};

RouteAnswer authenticate(std::string body) {
    RouteAnswer out = plain_answer(401, std::move(body));
    out.authenticate = "Bearer";
    return out;
}

// The characters of a bearer token (RFC 6750). The API server accepts no others.
bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return is_alnum(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
    });
}

}  // namespace

std::optional<RouteAnswer> TokenReviews::refuse(const std::string& token, AccessVerb verb,
                                                std::string_view path) {
    if (!is_token(token)) {
        return authenticate("this needs a token of the cluster: Authorization: Bearer TOKEN\n");
    }
    const auto verdict = judge({token, verb, path});
    if (!verdict) return plain_answer(503, "the token cannot be checked now; try again\n");
    switch (*verdict) {
        case Verdict::granted:
            return std::nullopt;
        case Verdict::denied:
            return plain_answer(403,
                                fmt::format("the token's owner may not {} the nonResourceURL {}\n",
                                            to_string(verb), path));
        case Verdict::unknown:
            return authenticate("invalid bearer token\n");
    }
    return plain_answer(403, "");
}

Result<Verdict> TokenReviews::judge(const Key& key) {
    if (const auto known = recall(key)) return *known;
    // A client that makes up tokens must not overload the API server, nor block a known reader
    // whose remembered answer has expired.
    const bool was_good = was_granted(key);
    const int reviews = reviews_.fetch_add(1);
    if (!was_good && (reviews >= kMostReviews || !may_request_for_others())) {
        --reviews_;
        return fail(Code::unavailable, "too many tokens are being checked");
    }
    auto verdict = review_.review(key.token, key.verb, key.path);
    --reviews_;
    if (verdict) {
        remember(key, *verdict);
        return verdict;
    }
    const MutexLock lock(mutex_);
    if (clock_.steady() >= silent_until_) {
        silent_until_ = clock_.steady() + kBetweenComplaints;
        log_event(Event::token_unchecked, {{"reason", verdict.error().text}});
    }
    return verdict;
}

std::optional<Verdict> TokenReviews::recall(const Key& key) {
    const MutexLock lock(mutex_);
    const auto found = memory_.find(key);
    if (found == memory_.end() || found->second.until <= clock_.steady()) return std::nullopt;
    return found->second.verdict;
}

bool TokenReviews::was_granted(const Key& key) {
    const MutexLock lock(mutex_);
    const auto found = memory_.find(key);
    return found != memory_.end() && found->second.verdict == Verdict::granted;
}

bool TokenReviews::may_request_for_others() {
    const MutexLock lock(mutex_);
    const auto now = clock_.steady();
    if (now >= second_ends_) {
        second_ends_ = now + std::chrono::seconds(1);
        asked_this_second_ = 0;
    }
    return asked_this_second_++ < kMostNewReviewsPerSecond;
}

void TokenReviews::remember(const Key& key, Verdict verdict) {
    const bool granted = verdict == Verdict::granted;
    const auto now = clock_.steady();
    const MutexLock lock(mutex_);
    if (memory_.size() >= keep_.most) {
        // Made-up tokens do not displace those that are or were good.
        std::erase_if(memory_,
                      [](const auto& entry) { return entry.second.verdict != Verdict::granted; });
    }
    if (memory_.size() >= keep_.most) {
        std::erase_if(memory_, [now](const auto& entry) { return entry.second.until <= now; });
    }
    if (memory_.size() >= keep_.most) memory_.clear();
    memory_[key] = {verdict, now + (granted ? keep_.granted_for : kRefusedFor)};
}

}  // namespace tessera
