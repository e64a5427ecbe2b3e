// Rooms for the pods of a gang, all of them at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/scheduler/placements.hpp"
#include "domain/cluster/state.hpp"

namespace tessera {

struct GangRooms {
    std::size_t found = 0;
    std::string without;  // the first pod that found none
};

// The pod itself and others of its gang, as many as are needed, the hardest to place first.
std::vector<PodAskPtr> those_to_place(const GangNow& now, const PodAsk& pod, std::size_t size);

// Each is decided on as any pod is, with what was promised to those before it counted as taken.
// The rooms are kept from now on (ClusterState::promise). `placements` may be null (binpack).
GangRooms promise_rooms(ClusterState& state, std::span<const std::string_view> nodes,
                        std::span<const PodAskPtr> members, const Placements* placements);

// Behind a sentence on a gang; empty mostly. That its pods do not agree on its size,
std::string about_sizes(const GangNow& now);
// and before that which of them do not count.
std::string about_the_others(const GangNow& now);

}  // namespace tessera
