// The subject of a bound: nodes, and what arrives there one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/placement/engine/policy.hpp"
#include "simulator/upper_bound/problem.hpp"
#include "simulator/workload/workload.hpp"

namespace tessera {

// Used by one thread at a time.
class BoundSubject {
  public:
    virtual ~BoundSubject() = default;

    [[nodiscard]] virtual TraceName name() const = 0;
    // The capacity of all GPUs, in thousandths of a GPU.
    [[nodiscard]] virtual std::int64_t capacity_milli() const = 0;
    // The request of each arrival.
    [[nodiscard]] virtual const std::vector<std::int64_t>& asked_milli() const = 0;
    [[nodiscard]] virtual BoundProblem problem(std::size_t first_arrivals,
                                               CpuOnlyTasks cpu_only) const = 0;
    // What is allocated to each arrival under the policy; 0 if it is dropped.
    [[nodiscard]] virtual std::vector<std::int64_t> allocated_milli(
        const PlacementPolicyRow& policy) const = 0;
};

}  // namespace tessera
