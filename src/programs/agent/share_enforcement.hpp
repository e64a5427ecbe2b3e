// How the agent enforces the GPU shares of its node's containers. Its threads distribute compute
// time, change the limits of resized pods, report limits and bypasses, and remove the regions of
// containers that are gone.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "adapters/guard/guard_folder.hpp"
#include "adapters/guard/reported_limits.hpp"
#include "adapters/guard/resized_allocations.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/memory_limits/driver_enforcer.hpp"
#include "adapters/mps/agent_mps_folder.hpp"
#include "adapters/mps/mps_enforcer.hpp"
#include "adapters/nvml/nvml_memory_limits.hpp"
#include "adapters/os/proc_table.hpp"
#include "app/agent/enforcement/bypass_detector.hpp"
#include "app/agent/enforcement/enforcers.hpp"
#include "app/agent/enforcement/limit_reconciler.hpp"
#include "app/agent/enforcement/mount_watch.hpp"
#include "app/agent/enforcement/region_garbage_collector.hpp"
#include "app/agent/enforcement/share_events.hpp"
#include "app/agent/enforcement/unshared_watch.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "app/agent/mps/gpu_modes.hpp"
#include "app/agent/mps/mps_watch.hpp"
#include "app/agent/observe/metrics.hpp"
#include "app/agent/start/container_start_handler.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct ShareEnforcementPorts {
    GpuInventory& driver;
    DeviceHolders& record;
    Clock& clock;
    NodeName node;
};

struct MpsOptions {
    std::string folder;  // empty: MPS is not offered
    bool shares_memory = false;
    int evict_after = 0;  // as mps_evict_after
};

struct DriverLimitOptions {
    std::string cgroup_folder;  // empty: the driver's memory limits are not used
    std::string driver_root;
};

struct EnforcementOptions {
    GuardFolderOptions guard;
    MpsOptions mps;
    DriverLimitOptions driver;
    BypassOptions bypass;
};

class ShareEnforcement {
  public:
    ShareEnforcement(const EnforcementOptions& options, HttpClient& api,
                     ShareEnforcementPorts ports);

    // Errors as GuardFolder::install.
    [[nodiscard]] Result<> install() { return guard_.install(); }
    // Complete after install().
    [[nodiscard]] const Enforcers& enforcers() const { return enforcers_; }
    // What others need of it. Call them after install().
    void add_to(GpuMonitorOptions& monitoring) const;
    void add_to(ContainerStartPorts& starting);
    // May be called from any thread.
    [[nodiscard]] UsageReport usage() const {
        return {enforcers_.usage().uses, bypasses_.found(), bypasses_.unclaimed()};
    }

    // May be called from any thread.
    [[nodiscard]] MpsReport mps_report() const {
        return mps_ ? mps_->modes.report() : MpsReport{.node = ports_.node};
    }

    // Takes what a watch of the node's pods showed, or why there is none. From one thread.
    void take(const PodChanges& changes);
    void take_error(const Error& error) { reconciler_.take_error(error); }
    // The threads end when `stop` is requested.
    [[nodiscard]] std::vector<std::jthread> start(const std::stop_token& stop);

    // May be called from any thread.
    [[nodiscard]] MpsLogs mps_logs(const GpuUuid& gpu) const {
        return {ports_.node, mps_ ? mps_->folder.logs(gpu) : std::vector<MpsLog>()};
    }

  private:
    struct Mps {
        Mps(const MpsOptions& options, const std::filesystem::path& probe,
            const ShareEnforcementPorts& ports, PodEvents& events)
            : folder(options.folder),
              enforcer(options.folder, options.shares_memory, probe),
              modes({folder, enforcer, ports.clock}, ports.node),
              watch(folder, enforcer, events, ports.clock, options.evict_after) {}

        AgentMpsFolder folder;
        MpsEnforcer enforcer;
        GpuModes modes;
        MpsWatch watch;
    };

    struct DriverLimits {
        DriverLimits(const DriverLimitOptions& options, const std::filesystem::path& folder)
            : limits(nvml_memory_limits(options.driver_root, {}, options.cgroup_folder)),
              enforcer(folder, options.cgroup_folder, *limits) {}

        std::unique_ptr<CgroupMemoryLimits> limits;
        DriverEnforcer enforcer;
    };

    [[nodiscard]] std::vector<Enforcer*> rows();
    // Null if MPS is not offered.
    [[nodiscard]] const GpuModes* modes() const { return mps_ ? &mps_->modes : nullptr; }

    const ShareEnforcementPorts ports_;
    GuardFolder guard_;
    KubePodEvents events_;
    const std::unique_ptr<Mps> mps_;              // null: MPS is not offered
    const std::unique_ptr<DriverLimits> driver_;  // null: not used
    const Enforcers enforcers_;
    ReportedLimitFiles reported_;
    ResizedAllocationFiles resized_;
    ProcTable processes_;
    BypassDetector bypasses_;
    MountWatch mounts_;
    UnsharedWatch unshared_;
    LimitReconciler reconciler_;
    RegionGarbageCollector collector_;
    ShareEvents share_events_;
};

}  // namespace tessera
