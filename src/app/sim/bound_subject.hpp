// What a bound is found for: nodes, and what arrives there one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "app/sim/workload.hpp"
#include "domain/placement/bound/problem.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

// Asked by one thread at a time.
class BoundSubject {
  public:
    virtual ~BoundSubject() = default;

    [[nodiscard]] virtual TraceName name() const = 0;
    // Of all cards.
    [[nodiscard]] virtual std::int64_t capacity_milli() const = 0;
    // What each arrival asks for.
    [[nodiscard]] virtual const std::vector<std::int64_t>& asked_milli() const = 0;
    [[nodiscard]] virtual BoundProblem problem(std::size_t first_arrivals,
                                               CpuOnlyTasks cpu_only) const = 0;
    // What each arrival holds under the policy; 0 where it is dropped.
    [[nodiscard]] virtual std::vector<std::int64_t> held_milli(
        const FleetPolicyRow& policy) const = 0;
};

}  // namespace tessera
