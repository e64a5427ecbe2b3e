// All parts of one simulated cluster, and what befalls them: they are killed and come back, nodes
// vanish and return, cards go bad and recover. What breaks is mended by itself after a while.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "testing/simulation/kube_scheduler.hpp"
#include "testing/simulation/kubelet.hpp"
#include "testing/simulation/service.hpp"
#include "testing/simulation/truth.hpp"
#include "testing/simulation/users.hpp"

namespace tessera::simulation {

struct ClusterNode {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<Kubelet> kubelet;
    bool cut_off = false;
};

class Cluster {
  public:
    // The size of everything, and how often which fault strikes, are drawn here.
    explicit Cluster(Scene& scene);

    // One of the faults that come by themselves, or none. Between two steps, from no task.
    void maybe_trouble();

    Scene& scene;
    ApiServer server;
    Truth truth;
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
    void lose_card(ClusterNode& node);
    void fault_card(ClusterNode& node);
    void silence_driver(ClusterNode& node);
    void unlink(ClusterNode& node);

    std::vector<std::function<void()>> troubles_;  // those that this run has
    std::uint64_t trouble_rate_ = 0;               // per 100,000 steps
    Process collector_;
};

}  // namespace tessera::simulation
