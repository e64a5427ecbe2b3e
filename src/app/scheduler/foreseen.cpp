#include "app/scheduler/foreseen.hpp"

#include <memory>
#include <string>

#include "app/scheduler/placements.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

defrag::RaterOf foreseen_raters(const defrag::Snapshot& snapshot, std::string_view standard) {
    return
        [&snapshot, standard = std::string(standard), placements = std::shared_ptr<Placements>()](
            const PodAsk& pod) mutable -> std::shared_ptr<const NodeRater> {
            // Learning takes its time, and most clusters need none.
            if ((pod.policy.empty() ? standard : pod.policy) == kBestFitInBytes) return nullptr;
            if (placements == nullptr) {
                placements = std::make_shared<Placements>(standard);
                ClusterState state = defrag::state_of(snapshot);
                placements->learn(state.take_arrivals(), *state.view());
            }
            return placements->rater_of(pod);
        };
}

}  // namespace tessera
