// The node's cards: reads them, watches their health, and publishes both to kubelet and the API
// server. One thread runs it; any thread may take the last inventory.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "app/agent/device_lists.hpp"
#include "domain/health/gpu_health.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kube_api.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct CardsOptions {
    NodeName node;
    MemoryUnit unit = MemoryUnit::gib;
    std::string identity;  // published: how containers are recognised
    DeviceListOptions lists;
    std::chrono::milliseconds probe_period{5'000};
    // How often the node object is compared with what we published: kubelet may reset amounts that
    // it does not count itself when it registers the node anew.
    std::chrono::milliseconds check_period{30'000};
};

class Cards {
  public:
    Cards(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins, CardsOptions options);

    // The first reading: fails when the driver does not answer, a UUID stands twice, or a device
    // list would not fit. Nothing is published yet.
    Result<> load();
    // Publishes, then follows faults and changes until `stop`.
    void run(const std::stop_token& stop);
    // The node object is compared at the next probe already: kubelet has restarted. Any thread.
    void check_soon() { check_soon_ = true; }

    [[nodiscard]] std::shared_ptr<const NodeInventory> inventory() const;

  private:
    Result<NodeInventory> read();
    void publish(const NodeInventory& now);
    void update(bool check_node);
    void take_faults(const GpuFault& fault);

    GpuInventory& driver_;
    KubeApi& kube_;
    DevicePluginHost& plugins_;
    const CardsOptions options_;
    GpuHealth health_;        // of run's thread
    bool published_ = false;  // of run's thread
    std::atomic<bool> check_soon_ = false;
    bool driver_failed_ = false;  // of run's thread: log once

    mutable std::mutex mutex_;
    std::shared_ptr<const NodeInventory> inventory_;  // guarded by mutex_
};

}  // namespace tessera
