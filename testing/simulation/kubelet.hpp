// A node's kubelet and runtime: starts the containers of its pods through the agent's
// ContainerStartHandler, ends them, and reports that. It may be killed and restarted, and its
// containers keep running.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "testing/simulation/agent.hpp"
#include "testing/simulation/ground_truth.hpp"
#include "testing/simulation/informer.hpp"

namespace tessera::simulation {

class Kubelet {
  public:
    Kubelet(Scene& scene, ApiServer& server, GroundTruth& ground_truth, Machine& machine,
            Identity identity);

    void start();
    void stop();
    [[nodiscard]] bool runs() const { return process_ != nullptr; }
    [[nodiscard]] Identity identity() const { return identity_; }
    // The running agent; null if there is none.
    std::unique_ptr<Agent> agent;

  private:
    struct Known {
        PodPtr pod;
        bool gone = false;
        bool done = false;
        Waiter worker;
    };

    void take(const Change<PodObject>& change);
    void know(const PodPtr& pod);
    void reap_orphans();
    void work(const PodUid& uid);
    void admit(const PodObject& pod);
    bool start_container(const PodObject& pod, const ContainerSpec& spec);
    bool pre_start(const PodObject& pod, const ContainerSpec& spec);
    bool create(const PodObject& pod, const ContainerSpec& spec);
    bool run_to_end(Known& known);
    void finish(Known& known);
    // Waits. False if the pod must end.
    bool pause(Known& known, Time duration);
    [[nodiscard]] static bool is_to_end(const Known& known);

    Scene& scene_;
    ApiServer& server_;
    GroundTruth& ground_truth_;
    Machine& machine_;
    const Identity identity_;
    int next_id_ = 0;
    std::map<PodUid, Known> pods_;
    Informer<PodObject> informer_;
    std::unique_ptr<Process> process_;
};

}  // namespace tessera::simulation
