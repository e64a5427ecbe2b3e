// What a container may still use of a GPU, or owes, for one kind of work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "guard/arbiter/container_reading.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

// The most that a balance may grow to: how far a container gets above its share after a pause,
inline constexpr std::int64_t kMaxBalanceNs = 10'000'000;
// and how far it may be behind and still catch up, if it always wanted more than it got.
inline constexpr std::int64_t kMaxLagNs = 200'000'000;
// A container that had work or waited all of the time may be as far behind as others can be ahead,
// so that it gets back what they had of its share.
inline constexpr std::int64_t kMaxPressingLagNs = 1'000'000'000;
// While it catches up, a container with a compute limit may exceed it by at most 2 points in a
// second.
inline constexpr std::int64_t kMaxLagBelowLimitNs = 20'000'000;

class Balance {
  public:
    [[nodiscard]] std::int64_t ns() const { return ns_; }

    // Less than 0 is time that is given back. First it cancels debt that was never paid, and none
    // of it is saved up.
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
    std::int64_t unpaid_ns_ = 0;  // the part of the debt that is beyond kMaxDebtNs
};

}  // namespace tessera::guard
