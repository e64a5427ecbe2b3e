// What the agent does where it holds its node's containers to their shares: the threads that share
// out time, change limits of pods that are resized, tell users of their limits, see who goes past
// the guard, and forget who is gone.
#pragma once

#include <stop_token>
#include <thread>
#include <vector>

#include "adapters/guard/guard_folder.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/os/proc_table.hpp"
#include "app/agent/evader_watch.hpp"
#include "app/agent/limit_follower.hpp"
#include "app/agent/metrics.hpp"
#include "app/agent/mount_watch.hpp"
#include "app/agent/share_events.hpp"
#include "app/agent/share_keeper.hpp"
#include "app/agent/unshared_watch.hpp"
#include "ports/kubelet.hpp"
#include "ports/node_pods.hpp"

namespace tessera {

struct ShareKeepingPorts {
    GpuInventory& driver;
    DeviceHolders& record;
    Clock& clock;
    NodePods& pods;
    NodeName node;
};

class ShareKeeping {
  public:
    ShareKeeping(GuardFolderOptions guard, EvaderOptions evaders, const HttpEndpoint& api,
                 ShareKeepingPorts ports);

    // Errors as GuardFolder::install.
    [[nodiscard]] Result<> install() { return guard_.install(); }
    // As GuardFolder::fault, after install().
    [[nodiscard]] const std::string& fault() const { return guard_.fault(); }
    [[nodiscard]] ShareHolder& holder() { return guard_; }
    [[nodiscard]] LiveLimits& limits() { return guard_.limits(); }
    [[nodiscard]] MountWatch& mounts() { return mounts_; }
    [[nodiscard]] UnsharedContainers& unshared() { return unshared_; }
    // Any thread.
    [[nodiscard]] ShareFacts facts() const {
        return {guard_.uses(), evaders_.found(), evaders_.unclaimed()};
    }

    // The threads end with `stop`.
    [[nodiscard]] std::vector<std::jthread> start(const std::stop_token& stop);

  private:
    void watch_pods(const std::stop_token& stop);

    const ShareKeepingPorts ports_;
    GuardFolder guard_;
    KubePodEvents events_;
    ProcTable processes_;
    EvaderWatch evaders_;
    MountWatch mounts_;
    UnsharedWatch unshared_;
    LimitFollower follower_;
    ShareKeeper keeper_;
    ShareEvents share_events_;
};

}  // namespace tessera
