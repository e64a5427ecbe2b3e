// The node's cards: reads them, watches their health, and publishes both, to kubelet at once and to
// the API server by a thread of its own. Any thread may take the last inventory.
#pragma once

#include <atomic>
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
    // And for that long: the process gives up, for a driver that waits for itself within this
    // process is helped by a new one alone.
    std::chrono::milliseconds hang_patience{600'000};
    // A driver that fails every call for that long, also after it was reopened: the process
    // gives up. What a container may open of the driver can be lost to it (a reset of its devices
    // cgroup), and a new container has it again.
    std::chrono::milliseconds failure_patience{120'000};
    // Called to give up. Left out, the process ends at once and with an error.
    std::function<void()> give_up = {};
};

// The driver's last answer.
struct CardReadings {
    std::vector<GpuReading> cards;
    std::chrono::nanoseconds age{};
    bool is_released = false;  // the agent has let go of the driver: the readings are of before
};

class Cards {
  public:
    // `shares`: who holds containers to theirs, if anybody does; outlives it.
    Cards(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins, CardsOptions options,
          const ShareHolder* shares = nullptr);

    // The first reading, under the same watch as those of run(): fails when the driver does not
    // answer, a UUID stands twice, or a device list would not fit. Nothing is published yet.
    Result<> load();
    // Publishes, then follows faults and changes until `stop`; lets go of the driver while a label
    // of the Node asks for it (driver_release.hpp), and shows the GPUs as not shareable meanwhile.
    // Then it shows the GPUs on the Node as out of use: kubelet refuses for good what is bound to
    // it while no device plugin is there, and says so on the Node seconds later only.
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
    [[nodiscard]] std::string handover_fault(const std::vector<Gpu>& gpus) const;
    void show(NodeInventory now);
    void send(const NodeInventory& now, const std::map<GpuUuid, Bytes>& excess);
    void watch(const std::stop_token& stop);
    [[nodiscard]] std::optional<std::chrono::milliseconds> hung_for() const;
    void take_out();
    void leave();
    void give_up(const char* reason) const;
    static NodeInventory none_usable(NodeInventory node, GpuCondition condition,
                                     const std::string& reason);
    static NodeInventory without_driver(NodeInventory node, const Error& error);
    static void keep_known(NodeInventory& node, const NodeInventory& before);
    Result<> reopen();
    [[nodiscard]] bool is_answered(const Result<NodeInventory>& now) const;
    Result<NodeInventory> read_again(Result<NodeInventory> now);
    void replace(NodeInventory now);
    void release(const std::string& label);
    void take_up();
    bool follow_release();
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
    Time failing_since_{};             // of run's thread: the first of these
    bool has_answered_ = false;        // of run's thread: some GPU, since this process runs
    std::string released_for_;         // of run's thread: the label; empty while the driver is used
    // Of run's thread: the cards before the driver was let go of; null while it is used.
    std::shared_ptr<const NodeInventory> before_release_;

    // Held while what was read is put in the place of what was known and handed on, so that the
    // thread that watches does neither between the two. Before mutex_.
    std::mutex showing_;

    std::atomic<bool> is_released_ = false;  // as published with the Node

    mutable std::mutex mutex_;
    std::optional<Time> asking_since_;  // guarded by mutex_, like the rest
    std::shared_ptr<const NodeInventory> inventory_;
    std::vector<GpuReading> readings_;
    std::chrono::steady_clock::time_point read_at_ = std::chrono::steady_clock::now();
};

}  // namespace tessera
