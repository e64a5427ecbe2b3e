// The node's cards: reads them, watches their health, and publishes both, to kubelet at once and to
// the API server by a thread of its own. Any thread may take the last inventory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/agent/device_lists.hpp"
#include "app/agent/node_publisher.hpp"
#include "domain/health/gpu_health.hpp"
#include "ports/cdi_store.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kube_api.hpp"
#include "ports/kubelet.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

struct CardsOptions {
    NodeName node;
    MemoryUnit unit = MemoryUnit::gib;
    DeviceListOptions lists;
    std::chrono::milliseconds probe_period{5'000};
    NodePublisherOptions publishing;
    // Asked whether a CDI device brings each GPU; null: it is not asked. Outlives Cards.
    CdiStore* cdi = nullptr;
    std::string enforcement_fault = {};  // published as it is
    // A call into the driver that has not returned for that long: the GPUs are published as
    // unhealthy, and are healthy again once it returns.
    std::chrono::milliseconds hang_bound{60'000};
    // And for that long: `on_hang` is called, for a driver that waits for itself within this
    // process is helped by a new one alone. Left out, the process ends at once and with an error.
    std::chrono::milliseconds hang_patience{600'000};
    std::function<void()> on_hang = {};
};

// The driver's last answer.
struct CardReadings {
    std::vector<GpuReading> cards;
    std::chrono::nanoseconds age{};
};

class Cards {
  public:
    // `shares`: who holds containers to theirs, if anybody does; outlives it.
    Cards(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins, CardsOptions options,
          const ShareHolder* shares = nullptr);

    // The first reading, under the same watch as those of run(): fails when the driver does not
    // answer, a UUID stands twice, or a device list would not fit. Nothing is published yet.
    Result<> load();
    // Publishes, then follows faults and changes until `stop`. Then it shows the GPUs on the Node
    // as out of use: kubelet refuses for good what is bound to it while no device plugin is there,
    // and says so on the Node seconds later only.
    void run(const std::stop_token& stop);

    // The steps of run(), for a caller that has its own idea of when (testing/simulation). All but
    // publish_now(), which waits for the API server, are of one thread.
    void publish();
    void take_faults(const GpuFault& fault);
    void update();
    bool publish_now() { return publisher_.publish_now(); }

    // The node object is compared now: kubelet has restarted. Any thread.
    void check_soon() { publisher_.check_soon(); }

    [[nodiscard]] std::shared_ptr<const NodeInventory> inventory() const;
    // What the driver last said, good cards and lost ones.
    [[nodiscard]] CardReadings readings() const;

  private:
    using Time = std::chrono::steady_clock::time_point;
    // Notes that the driver is being asked, for the thread that watches.
    class Call;

    Result<NodeInventory> read();
    [[nodiscard]] std::string handover_fault(const std::vector<GpuReading>& readings) const;
    void show(NodeInventory now);
    void send(const NodeInventory& now, const std::map<GpuUuid, Bytes>& excess);
    void watch(const std::stop_token& stop);
    [[nodiscard]] std::optional<std::chrono::milliseconds> hung_for() const;
    void take_out();
    void leave();
    NodeInventory without_driver(const Error& error);
    [[nodiscard]] std::map<GpuUuid, Bytes> read_excess() const;
    void wait_for_fault(const std::stop_token& stop);

    GpuInventory& driver_;
    DevicePluginHost& plugins_;
    const CardsOptions options_;
    const ShareHolder* shares_;
    NodePublisher publisher_;
    std::map<GpuUuid, Bytes> excess_;  // of run's thread: as published last
    GpuHealth health_;                 // of run's thread
    int failed_reads_ = 0;             // of run's thread: in a row

    // Held while what was read is put in the place of what was known and handed on, so that the
    // thread that watches does neither between the two. Before mutex_.
    std::mutex showing_;

    mutable std::mutex mutex_;
    std::optional<Time> asking_since_;  // guarded by mutex_, like the rest
    std::shared_ptr<const NodeInventory> inventory_;
    std::vector<GpuReading> readings_;
    std::chrono::steady_clock::time_point read_at_ = std::chrono::steady_clock::now();
};

}  // namespace tessera
