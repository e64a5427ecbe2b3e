// One process lifetime of a node's agent: the product's GpuMonitor and ContainerStartHandler on the
// ports of the machine, and their loops.
#pragma once

#include <functional>
#include <memory>

#include "app/agent/inventory/gpu_monitor.hpp"
#include "app/agent/start/container_start_handler.hpp"
#include "testing/simulation/faulty_kube_api.hpp"
#include "testing/simulation/loop_clock.hpp"
#include "testing/simulation/machine.hpp"

namespace tessera::simulation {

class Agent final : private DevicePluginHost, private UnsharedContainers {
  public:
    Agent(Scene& scene, ApiServer& server, Machine& machine, Identity identity);
    ~Agent() override;
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    // False if the driver does not answer: then the program ends and is restarted.
    bool start();
    // Reads the GPUs now, because a fault was reported.
    void look_at_gpus();
    // Breaks the runtime's NRI connection, and restores it after `duration`.
    void unlink(Time duration);

    Process& process() { return process_; }
    ContainerStartHandler& handler() { return handler_; }
    // Whether the runtime calls the agent before it creates a container.
    [[nodiscard]] bool linked() const { return linked_; }
    [[nodiscard]] Time linked_since() const { return linked_since_; }

  private:
    void set_lists(DeviceLists lists) override;
    void refresh_record() override;
    // Kills the container, as with `--bypass-action=kill`.
    void found(UnsharedContainer container) override;
    // Not used: the simulation has its own kubelet and runtime.
    void run(DevicePluginHandler& handler, const std::function<void()>& registered,
             std::stop_token stop) override;

    void follow_gpus();
    void publish();
    void follow_modes();
    void link();

    Scene& scene_;
    Machine& machine_;
    const Identity identity_;
    LoopClock clock_;
    FaultyKubeApi kube_;
    GpuModes modes_;
    GpuMonitor gpus_;
    ContainerStartHandler handler_;
    bool linked_ = false;
    Time linked_since_{};
    bool publish_due_ = false;
    Waiter publisher_;
    Waiter prober_;
    Process process_;  // last, because its tasks use the other members
};

}  // namespace tessera::simulation
