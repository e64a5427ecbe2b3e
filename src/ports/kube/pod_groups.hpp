// The PodGroups of Kubernetes, if the API server has them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_group.hpp"

namespace tessera {

// As PodChanges (kube_api.hpp).
struct PodGroupChanges {
    std::vector<PodGroup> upserted;
    std::vector<GangId> deleted;
    std::optional<std::set<GangId>> listed;
};

class PodGroups {
  public:
    virtual ~PodGroups() = default;

    // As KubeApi::follow_pods. An API server without PodGroups is no error: it is asked again each
    // minute.
    virtual void follow_pod_groups(const std::function<void(PodGroupChanges)>& sink,
                                   const std::function<void(const Error&)>& on_error,
                                   std::stop_token stop) = 0;
};

}  // namespace tessera
