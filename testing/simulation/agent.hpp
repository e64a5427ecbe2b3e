// One life of a node's agent: the product's Cards and Gate on the machine's ports, and their loops.
#pragma once

#include <functional>
#include <memory>

#include "app/agent/cards.hpp"
#include "app/agent/gate.hpp"
#include "testing/simulation/kube_line.hpp"
#include "testing/simulation/machine.hpp"

namespace tessera::simulation {

class Agent final : private DevicePluginHost, private UnsharedContainers {
  public:
    Agent(Scene& scene, ApiServer& server, Machine& machine, Identity identity);
    ~Agent() override;
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    // False while the driver does not answer: the program ends and is started again.
    bool start();
    // A fault was reported.
    void look_at_cards();
    // The runtime's NRI connection breaks, and is back after `duration`.
    void unlink(Time duration);

    Process& process() { return process_; }
    Gate& gate() { return gate_; }
    // The runtime asks before it creates a container.
    [[nodiscard]] bool linked() const { return linked_; }
    [[nodiscard]] Time linked_since() const { return linked_since_; }

  private:
    void set_lists(DeviceLists lists) override;
    void refresh_record() override;
    // Ends it, as with `--evaders=end`.
    void found(UnsharedContainer container) override;
    // Not used: kubelet and the runtime are the simulation's.
    void run(DevicePluginHandler& handler, const std::function<void()>& registered,
             std::stop_token stop) override;

    void follow_cards();
    void publish();
    void link();

    Scene& scene_;
    Machine& machine_;
    const Identity identity_;
    KubeLine kube_;
    Cards cards_;
    Gate gate_;
    bool linked_ = false;
    Time linked_since_{};
    bool publish_due_ = false;
    Waiter publisher_;
    Waiter prober_;
    Process process_;  // last: its tasks use the rest
};

}  // namespace tessera::simulation
