// Who is let in to the controller's routes. What each needs stands in route_table.hpp.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "app/scheduler/route_answer.hpp"
#include "ports/access_review.hpp"
#include "ports/clock.hpp"

namespace tessera {

struct AccessOptions {
    bool certificates = false;  // clients can show one; false: what needs one is open
    bool open_reads = false;    // what needs a token is open
};

// A request before its body.
struct Visitor {
    std::string_view method;
    std::string_view path;  // without the query
    bool has_certificate = false;
    std::string token;
};

// Any thread may ask. What the review says of a token counts for a while; one that nobody can
// judge is let in nowhere.
class Access {
  public:
    static constexpr std::chrono::seconds kGrantedFor{60};
    static constexpr std::chrono::seconds kRefusedFor{10};
    static constexpr std::size_t kMostRemembered = 1'024;
    // Of tokens that were never good: at once, and in a second.
    static constexpr int kMostReviews = 4;
    static constexpr int kMostStrangersPerSecond = 50;

    Access(AccessReview& review, Clock& clock, AccessOptions options);

    // Nothing: the visitor is let in.
    std::optional<RouteAnswer> refuse(const Visitor& visitor);

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

    std::optional<RouteAnswer> refuse_token(const std::string& token, std::string_view path);
    Result<Verdict> judge(const Key& key);
    std::optional<Verdict> recall(const Key& key);
    bool was_granted(const Key& key);
    bool may_ask_for_strangers();
    void remember(const Key& key, Verdict verdict);

    AccessReview& review_;
    Clock& clock_;
    const AccessOptions options_;
    std::atomic<int> reviews_ = 0;
    std::mutex mutex_;
    std::map<Key, Memory> memory_;              // guarded by mutex_
    std::chrono::nanoseconds silent_until_{0};  // no complaint before; guarded by mutex_, as these:
    std::chrono::nanoseconds second_ends_{0};
    int asked_this_second_ = 0;
};

}  // namespace tessera
