// Reservations for the pods of a gang, all of them at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {

struct GangReservations {
    std::size_t found = 0;
    std::string without;  // the first pod that fits on no node
};

// The pod itself and as many other pods of its gang as are needed, the hardest to place first.
std::vector<PodRequestPtr> those_to_place(const GangNow& now, const PodRequest& pod,
                                          std::size_t size);

// Decides on each pod as on any other, with the reservations of the pods before it counted as used.
// The reservations last until they are given up (ClusterState::reserve_node). `policies` may be
// null (binpack).
GangReservations reserve_for_gang(ClusterState& state, std::span<const std::string_view> nodes,
                                  std::span<const PodRequestPtr> members,
                                  const PolicySet* policies);

// Additions to a sentence on a gang; mostly empty. This one says that its pods disagree on its
// size.
std::string about_sizes(const GangNow& now);
// This one first says which of its pods do not count, and why.
std::string about_the_others(const GangNow& now);

}  // namespace tessera
