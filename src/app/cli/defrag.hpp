// tessera defrag: plans the fewest moves, and carries them out one after the other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "ports/clock.hpp"
#include "ports/defrag_cluster.hpp"

namespace tessera {

// By which policy each pod of a snapshot is placed (app/scheduler/foreseen.hpp). Nobody plans
// without it: a pod that is ended by another policy's guess comes back to the cards that were to be
// freed.
using Foreseen = std::function<defrag::RaterOf(const defrag::Snapshot&)>;

struct DefragAsk {
    std::optional<PodName> pod;  // make room for it; else free whole cards
    int cards = 1;               // more than are free now
};

struct DefragAnswer {
    std::variant<defrag::Plan, defrag::NoPlan> found;
    std::map<std::string, int> stays;  // why pods stay → how many
    int cards_wanted = 0;              // free ones in all; of no pod
};

// Reads and changes nothing. Errors: of the pod (defrag::find_waiting), of reading the cluster.
Result<DefragAnswer> plan_defrag(DefragCluster& cluster, const DefragAsk& ask,
                                 const Foreseen& foreseen);

struct DefragRun {
    DefragAsk ask;
    defrag::Plan plan;
    int cards_wanted = 0;
    // For each pod: to be gone, and another of its controller's to be on a node.
    std::chrono::seconds timeout{120};
    std::function<void(const std::string&)> say;  // a line of what goes on
};

// Evicts the plan's first pod, waits until it is gone and another is on a node, and plans anew from
// what is then; until the goal is reached. A caller that ends at any instant leaves no more than
// one eviction under way. Errors: conflict, nothing more can be gained, or somebody forbids the
// eviction; unavailable, it took too long; whichever of them says what was done and what is left.
Result<> apply_defrag(DefragCluster& cluster, Clock& clock, const DefragRun& run,
                      const Foreseen& foreseen);

}  // namespace tessera
