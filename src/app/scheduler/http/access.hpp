// Access control for the controller's routes. route_table.hpp says what each route requires.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/common/route_answer.hpp"
#include "app/common/token_reviews.hpp"
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

// Thread-safe.
class Access {
  public:
    Access(AccessReview& review, Clock& clock, AccessOptions options);

    // Returns nothing if the request is allowed, else the answer that refuses it.
    std::optional<RouteAnswer> refuse(const RequestHead& head);

  private:
    [[nodiscard]] std::optional<RouteAnswer> refuse_proxy(const RequestHead& head) const;

    TokenReviews tokens_;
    const AccessOptions options_;
};

}  // namespace tessera
