// Access control for the controller's routes. route_table.hpp says what each route requires.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "app/scheduler/http/route_answer.hpp"
#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "ports/kube/access_review.hpp"

namespace tessera {

struct AccessOptions {
    bool certificates = false;  // clients can present one; false: routes that require one are open
    bool open_reads = false;    // routes that require a token are open
    bool admissions = false;    // the admission webhook is served
    // Whether the client with a certificate of this common name may pass on requests of others;
    // empty: the routes for it are not served. Such certificates open no other route. Any thread
    // may call.
    std::function<bool(std::string_view name)> is_front_proxy{};
};

// A request before its body is read.
struct RequestHead {
    std::string_view method;
    std::string_view path;  // without the query
    bool has_certificate = false;
    std::string token;
    std::string certificate_name{};
};

// Thread-safe. The verdict on a token is remembered for a while. A token that cannot be reviewed
// gets no access.
class Access {
  public:
    static constexpr std::chrono::seconds kGrantedFor{60};
    static constexpr std::chrono::seconds kRefusedFor{10};
    static constexpr std::size_t kMostRemembered = 1'024;
    // For tokens that were never good: concurrent reviews, and reviews per second.
    static constexpr int kMostReviews = 4;
    static constexpr int kMostNewReviewsPerSecond = 50;

    Access(AccessReview& review, Clock& clock, AccessOptions options);

    // Returns nothing if the request is allowed, else the answer that refuses it.
    std::optional<RouteAnswer> refuse(const RequestHead& head);

  private:
    struct Memory {
        Verdict verdict;
        std::chrono::nanoseconds until;
    };
    struct Key {
        std::string token;
        std::string_view path;  // of a row of the table
        auto operator<=>(const Key&) const = default;
    };

    [[nodiscard]] std::optional<RouteAnswer> refuse_proxy(const RequestHead& head) const;
    std::optional<RouteAnswer> refuse_token(const std::string& token, std::string_view path);
    Result<Verdict> judge(const Key& key);
    std::optional<Verdict> recall(const Key& key);
    bool was_granted(const Key& key);
    bool may_request_for_others();
    void remember(const Key& key, Verdict verdict);

    AccessReview& review_;
    Clock& clock_;
    const AccessOptions options_;
    std::atomic<int> reviews_ = 0;
    Mutex mutex_;
    std::map<Key, Memory> memory_ TESSERA_GUARDED_BY(mutex_);
    // No free review slot until then.
    std::chrono::nanoseconds silent_until_ TESSERA_GUARDED_BY(mutex_){0};
    std::chrono::nanoseconds second_ends_ TESSERA_GUARDED_BY(mutex_){0};
    int asked_this_second_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
