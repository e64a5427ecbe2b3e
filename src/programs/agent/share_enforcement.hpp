// How the agent enforces the GPU shares of its node's containers. Its threads distribute compute
// time, change the limits of resized pods, report limits and bypasses, and remove the regions of
// containers that are gone.
#pragma once

#include <stop_token>
#include <thread>
#include <vector>

#include "adapters/guard/guard_folder.hpp"
#include "adapters/guard/reported_limits.hpp"
#include "adapters/guard/resized_allocations.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/os/proc_table.hpp"
#include "app/agent/enforcement/bypass_detector.hpp"
#include "app/agent/enforcement/enforcers.hpp"
#include "app/agent/enforcement/limit_reconciler.hpp"
#include "app/agent/enforcement/mount_watch.hpp"
#include "app/agent/enforcement/region_garbage_collector.hpp"
#include "app/agent/enforcement/share_events.hpp"
#include "app/agent/enforcement/unshared_watch.hpp"
#include "app/agent/observe/metrics.hpp"
#include "ports/kubelet.hpp"
#include "ports/node_pods.hpp"

namespace tessera {

struct ShareEnforcementPorts {
    GpuInventory& driver;
    DeviceHolders& record;
    Clock& clock;
    NodePods& pods;
    NodeName node;
};

class ShareEnforcement {
  public:
    ShareEnforcement(GuardFolderOptions guard, BypassOptions bypass, HttpClient& api,
                     ShareEnforcementPorts ports);

    // Errors as GuardFolder::install.
    [[nodiscard]] Result<> install() { return guard_.install(); }
    // Complete after install().
    [[nodiscard]] const Enforcers& enforcers() const { return enforcers_; }
    [[nodiscard]] ResizedAllocations& resized() { return resized_; }
    [[nodiscard]] MountWatch& mounts() { return mounts_; }
    [[nodiscard]] UnsharedContainers& unshared() { return unshared_; }
    // May be called from any thread.
    [[nodiscard]] UsageReport usage() const {
        return {enforcers_.usage().uses, bypasses_.found(), bypasses_.unclaimed()};
    }

    // The threads end when `stop` is requested.
    [[nodiscard]] std::vector<std::jthread> start(const std::stop_token& stop);

  private:
    void watch_pods(const std::stop_token& stop);

    const ShareEnforcementPorts ports_;
    GuardFolder guard_;
    const Enforcers enforcers_;
    ReportedLimitFiles reported_;
    ResizedAllocationFiles resized_;
    KubePodEvents events_;
    ProcTable processes_;
    BypassDetector bypasses_;
    MountWatch mounts_;
    UnsharedWatch unshared_;
    LimitReconciler reconciler_;
    RegionGarbageCollector collector_;
    ShareEvents share_events_;
};

}  // namespace tessera
