// The pods of one node, as the API server shows them.
#pragma once

#include <functional>
#include <stop_token>

#include "ports/kube/kube_api.hpp"

namespace tessera {

class NodePods {
  public:
    virtual ~NodePods() = default;

    // As KubeApi::follow_pods, for this node alone.
    virtual void follow_pods_of(const NodeName& node, const std::function<void(PodChanges)>& sink,
                                const KubeApi::ErrorSink& on_error, std::stop_token stop) = 0;
};

}  // namespace tessera
