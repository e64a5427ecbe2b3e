// All components of one simulated cluster, and their faults: components are killed and restart,
// nodes vanish and return, GPUs fail and recover. Every fault ends by itself after a while.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "testing/simulation/ground_truth.hpp"
#include "testing/simulation/kube_scheduler.hpp"
#include "testing/simulation/kubelet.hpp"
#include "testing/simulation/service.hpp"
#include "testing/simulation/users.hpp"

namespace tessera::simulation {

struct ClusterNode {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<Kubelet> kubelet;
    bool cut_off = false;
};

class Cluster {
  public:
    // Draws the sizes and the rates of all faults.
    explicit Cluster(Scene& scene);

    // Triggers one of the spontaneous faults, or none. Called between two steps, from no task.
    void maybe_trouble();

    Scene& scene;
    ApiServer server;
    GroundTruth ground_truth;
    Service service;
    std::vector<ClusterNode> nodes;
    std::unique_ptr<KubeScheduler> scheduler;
    std::unique_ptr<Users> users;

  private:
    void draw_rates();
    void build();
    void start_agent(ClusterNode& node);
    void collect_lost_pods();

    void kill_controller();
    void retire_controller();
    void await_retired(int life, int replica);
    void kill_scheduler();
    void silence_api();
    void kill_agent(ClusterNode& node);
    void kill_kubelet(ClusterNode& node);
    void vanish(ClusterNode& node);
    void lose_gpu(ClusterNode& node);
    void fault_gpu(ClusterNode& node);
    void silence_driver(ClusterNode& node);
    void unlink(ClusterNode& node);

    std::vector<std::function<void()>> faults_;  // the spontaneous faults of this run
    std::uint64_t fault_rate_ = 0;               // per 100,000 steps
    Process collector_;
};

}  // namespace tessera::simulation
