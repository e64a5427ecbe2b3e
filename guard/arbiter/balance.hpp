// What a container may still use of a card, or owes, of one kind of work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "guard/arbiter/container_reading.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

// What a balance may grow to: how far above its share a container comes after a pause,
inline constexpr std::int64_t kMaxBalanceNs = 10'000'000;
// and how far behind it may be and catch up, if it always wanted more than it got.
inline constexpr std::int64_t kMaxLagNs = 200'000'000;
// Who had work or waited all of the time may be as far behind as others can be ahead: it gets
// back what they had of his.
inline constexpr std::int64_t kMaxPressingLagNs = 1'000'000'000;
// But who has a ceiling is not to pass it while he catches up: by no more than 2 points in a
// second.
inline constexpr std::int64_t kMaxLagBelowCeilingNs = 20'000'000;

class Balance {
  public:
    [[nodiscard]] std::int64_t ns() const { return ns_; }

    // Less than 0 is given back: of that comes first for which nobody paid, and none of it is saved
    // up.
    void use(std::int64_t used_ns) {
        const std::int64_t never_paid = std::min(std::max(-used_ns, std::int64_t{0}), unpaid_ns_);
        unpaid_ns_ -= never_paid;
        ns_ = std::min(ns_ - used_ns - never_paid, std::max(ns_, kMaxLagNs));
    }

    void earn(std::int64_t earned_ns, std::int64_t most_ns) {
        const std::int64_t wanted = ns_ + earned_ns;
        const std::int64_t beyond = std::max(-kMaxDebtNs - wanted, std::int64_t{0});
        unpaid_ns_ = wanted > 0 ? 0 : unpaid_ns_ + std::min(beyond, kMaxTimeNs - unpaid_ns_);
        ns_ = std::clamp(wanted, -kMaxDebtNs, most_ns);
    }

    void forgive_up_to(std::int64_t least_ns) { ns_ = std::max(ns_, least_ns); }

  private:
    std::int64_t ns_ = 0;
    std::int64_t unpaid_ns_ = 0;  // of the debt, that is beyond the largest
};

}  // namespace tessera::guard
