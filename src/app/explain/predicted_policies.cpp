#include "app/explain/predicted_policies.hpp"

#include <memory>
#include <string>

#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/placement/engine/policy.hpp"

namespace tessera {

defrag::ScorerOf predicted_scorers(const defrag::ClusterObjects& objects,
                                   std::string_view standard) {
    return [&objects, standard = std::string(standard), policies = std::shared_ptr<PolicySet>()](
               const PodRequest& pod) mutable -> std::shared_ptr<const NodeScorer> {
        // Learning takes time, and most clusters need none.
        if ((pod.policy.empty() ? standard : pod.policy) == kBestFitInBytes) return nullptr;
        if (policies == nullptr) {
            policies = std::make_shared<PolicySet>(standard);
            ClusterState state = defrag::state_of(objects);
            policies->learn(state.take_arrivals(), *state.snapshot());
        }
        return policies->scorer_of(pod);
    };
}

}  // namespace tessera
