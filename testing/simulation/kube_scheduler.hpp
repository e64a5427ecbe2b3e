// kube-scheduler with Tessera's extender. It calls filter and prioritize for one pod at a time, and
// binds in parallel. It looks at a pod's nominated node first, and at no other if the pod fits
// there. After each failure the back-off grows. An unschedulable pod waits until the cluster
// changes, or for five minutes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "testing/simulation/informer.hpp"
#include "testing/simulation/service.hpp"

namespace tessera::simulation {

class KubeScheduler {
  public:
    KubeScheduler(Scene& scene, ApiServer& server, Service& service);

    void start();
    // Forgets its requests, which the controller still handles.
    void stop();
    [[nodiscard]] bool runs() const { return process_ != nullptr; }

  private:
    struct Waiting {
        PodPtr pod;
        int attempts = 0;
        Time due{};
        bool fits_nowhere = false;
        bool binding = false;
    };

    void take(const Change<PodObject>& change);
    void take_node(const Change<NodeObject>& change);
    void know(const PodPtr& pod);
    void room_may_be_there();
    void schedule();
    Waiting* next();
    void try_pod(const PodPtr& pod);
    [[nodiscard]] std::vector<NodeName> allowed_nodes(const PodInfo& pod);
    [[nodiscard]] std::optional<FilterAnswer> ask(const PodInfo& pod,
                                                  const std::vector<NodeName>& nodes);
    [[nodiscard]] NodeName best_of(const PodInfo& pod, const std::vector<NodeName>& fitting);
    void fail(const PodInfo& pod, bool fits_nowhere);
    void clear_nomination(const PodInfo& pod);
    void bind_later(const PodInfo& pod, const NodeName& node);
    void bind(const PodInfo& pod, const NodeName& node);
    void again(const PodUid& uid, bool fits_nowhere);

    Scene& scene_;
    ApiServer& server_;
    Service& service_;
    std::map<PodUid, Waiting> queue_;
    std::map<NodeName, bool> nodes_;
    // Nodes that a pod cannot use for reasons of kube-scheduler's own, while there are faults.
    std::set<std::pair<PodUid, NodeName>> excluded_;
    Waiter idle_;
    Informer<PodObject> pods_;
    Informer<NodeObject> node_informer_;
    std::unique_ptr<Process> process_;
};

}  // namespace tessera::simulation
