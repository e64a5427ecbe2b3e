// The results of replay_live(), for people and for programs.
#pragma once

#include <string>

#include "simulator/live/live_replay.hpp"

namespace tessera {

// The cluster now, then a line per policy for the pending pods and for all pods placed again;
// below, a line per pending pod with the node and GPUs that it would get under each policy.
std::string live_table(const LiveReport& report);
// what,policy,allocated,fragmentation,free_gpus,placed,without_room.
std::string live_csv(const LiveReport& report);
// {"taken", "nodes", "gpus", ..., "asIs": {...}, "policies": [{"policy", "waitingPlaced": {...},
// "allPlaced": {...}, "waiting": [{"pod", "node", "gpus"}]}]}; a pod without room has no node.
std::string live_json(const LiveReport& report);

}  // namespace tessera
