// What replay_live() found, for people and for programs.
#pragma once

#include <string>

#include "app/sim/live_replay.hpp"

namespace tessera {

// The cluster as it is, a line per policy for the waiting pods and for all pods placed anew; below,
// a line per waiting pod with the node and cards that it would get under each policy.
std::string live_table(const LiveReport& report);
// what,policy,held,fragmentation,free_cards,placed,without_room.
std::string live_csv(const LiveReport& report);
// {"taken", "nodes", "cards", ..., "asIs": {...}, "policies": [{"policy", "waitingPlaced": {...},
// "anew": {...}, "waiting": [{"pod", "node", "cards"}]}]}; no node for a pod without room.
std::string live_json(const LiveReport& report);

}  // namespace tessera
