// The node's GPUs: reads them, watches their health, and publishes both. Kubelet gets changes at
// once, and the API server from a thread of its own. Any thread may read the last inventory.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/agent/inventory/device_lists.hpp"
#include "app/agent/inventory/node_publisher.hpp"
#include "app/agent/mps/gpu_modes.hpp"
#include "base/mutex.hpp"
#include "domain/health/excluded_gpus.hpp"
#include "domain/health/gpu_health.hpp"
#include "ports/cdi_store.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kubelet.hpp"
#include "ports/shares/cgroup_memory_limits.hpp"
#include "ports/shares/share_meter.hpp"

namespace tessera {

struct GpuMonitorOptions {
    NodeName node;
    MemoryUnit unit = MemoryUnit::gib;
    DeviceListOptions lists;
    ExcludedGpus excluded = {};
    std::chrono::milliseconds probe_period{5'000};
    NodePublisherOptions publishing;
    // Used to check that a CDI device exists for each GPU; null: not checked. Outlives the
    // GpuMonitor.
    CdiStore* cdi = nullptr;
    std::string enforcement_fault = {};  // published unchanged
    const GpuModes* modes = nullptr;     // null: the node does not offer MPS. Outlives the monitor
    // As Gpu::mps_offenders, ascending; empty: none. Any thread may call it.
    std::function<std::vector<PodUid>(const GpuUuid&)> mps_offenders = {};
    // Published as Gpu::limits_memory; null: not used. Outlives the monitor.
    CgroupMemoryLimits* memory_limits = nullptr;
    // If a call into the driver has not returned for this long, the GPUs are published as
    // unhealthy. They are healthy again once it returns.
    std::chrono::milliseconds hang_bound{60'000};
    // If a call has not returned for this long, the process gives up: only a new process helps with
    // a driver that deadlocks within this one.
    std::chrono::milliseconds hang_patience{600'000};
    // If the driver fails every call for this long, also after it was reopened, the process gives
    // up. The container can lose access to the driver's files (a reset of its devices cgroup), and
    // a new container has access again.
    std::chrono::milliseconds failure_patience{120'000};
    // Called to give up. If it is empty, the process exits at once with an error.
    std::function<void()> give_up = {};
};

// The driver's last answer.
struct GpuReadings {
    std::vector<GpuReading> gpus;
    std::chrono::nanoseconds age{};
    bool is_released = false;  // the agent has released the driver: the readings are older
};

class GpuMonitor {
  public:
    // `shares` measures enforced shares; null if shares are not enforced. It outlives this.
    GpuMonitor(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins,
               GpuMonitorOptions options, const ShareMeter* shares = nullptr);

    // Reads the GPUs for the first time; run()'s watch for hanging calls is active. Fails if the
    // driver does not answer, a UUID appears twice, a device list would not fit, or an excluded
    // index does not exist. It publishes nothing.
    Result<> load();
    // Publishes, then follows faults and changes until `stop`. While a label of the Node asks for
    // it (driver_release.hpp), it releases the driver and shows the GPUs as not shareable. At the
    // end it shows the GPUs on the Node as not usable. Without a device plugin kubelet permanently
    // rejects pods that are bound to the node, and the Node shows the missing plugin only seconds
    // later.
    void run(const std::stop_token& stop);

    // The steps of run(), for a caller with its own timing (testing/simulation). Call all of them
    // from one thread, except publish_now(), which waits for the API server.
    void publish();
    void take_faults(const GpuFault& fault);
    void update();
    bool publish_now() { return publisher_.publish_now(); }

    // An error says what is missing: the driver does not answer, or the Node does not show its GPUs
    // yet. An agent that has released the driver as asked is ready. Any thread.
    [[nodiscard]] Result<> ready() const;

    // Makes the publisher compare the Node now, because kubelet has restarted. Any thread.
    void check_soon() { publisher_.check_soon(); }

    [[nodiscard]] std::shared_ptr<const NodeInventory> inventory() const;
    // The driver's last readings, of GPUs that answered and of lost ones.
    [[nodiscard]] GpuReadings readings() const;

  private:
    using Time = std::chrono::steady_clock::time_point;
    // Marks a call of the driver as under way, for the thread that watches.
    class Call;

    Result<NodeInventory> read();
    [[nodiscard]] bool limits_memory(const GpuUuid& gpu);
    // They admit only MPS because of us, although they are not shareable by the driver's words.
    [[nodiscard]] std::vector<GpuUuid> gpus_in_mps_mode() const;
    [[nodiscard]] std::string injection_fault(const std::vector<Gpu>& gpus) const;
    void show(NodeInventory now);
    void send(const NodeInventory& now, const std::map<GpuUuid, Bytes>& over_limit);
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
    [[nodiscard]] std::map<GpuUuid, Bytes> read_over_limit() const;
    void wait_for_fault(const std::stop_token& stop);

    GpuInventory& driver_;
    DevicePluginHost& plugins_;
    const GpuMonitorOptions options_;
    ExcludedGpus excluded_;  // options_.excluded, by UUIDs after load()
    const ShareMeter* shares_;
    NodePublisher publisher_;
    std::map<GpuUuid, Bytes> over_limit_;  // of run's thread: as last published
    GpuHealth health_;                     // of run's thread
    // Of run's thread: why the driver does not limit memory on a GPU, as last logged.
    std::map<GpuUuid, std::string> memory_limit_faults_;
    int failed_reads_ = 0;       // of run's thread: in a row
    Time failing_since_{};       // of run's thread: time of the first of these
    bool has_answered_ = false;  // of run's thread: some GPU has answered this process
    std::string released_for_;   // of run's thread: the label; empty while the driver is in use
    // Of run's thread: the GPUs before the driver was released; null while it is in use.
    std::shared_ptr<const NodeInventory> before_release_;

    // Held while a new inventory replaces the old one and is sent, so that the watching thread does
    // neither in between.
    Mutex showing_ TESSERA_ACQUIRED_BEFORE(mutex_);

    std::atomic<bool> is_released_ = false;  // as published on the Node

    mutable Mutex mutex_;
    std::optional<Time> asking_since_ TESSERA_GUARDED_BY(mutex_);
    std::shared_ptr<const NodeInventory> inventory_ TESSERA_GUARDED_BY(mutex_);
    std::vector<GpuReading> readings_ TESSERA_GUARDED_BY(mutex_);
    Time read_at_ TESSERA_GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
};

}  // namespace tessera
