// What the agent does where it holds its node's containers to their shares: the threads that share
// out time, tell users of their limits, see who goes past the guard, and forget who is gone.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "adapters/guard/guard_folder.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "adapters/os/proc_table.hpp"
#include "app/agent/evader_watch.hpp"
#include "app/agent/metrics.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct HeldSharesPorts {
    GpuInventory& driver;
    DeviceHolders& record;
    Clock& clock;
};

class HeldShares {
  public:
    HeldShares(GuardFolderOptions guard, EvaderOptions evaders, const HttpEndpoint& api,
               HeldSharesPorts ports);

    // Errors as GuardFolder::install.
    [[nodiscard]] Result<> install() const { return guard_.install(); }
    [[nodiscard]] ShareHolder& holder() { return guard_; }
    // Any thread.
    [[nodiscard]] ShareFacts facts() const { return {guard_.uses(), evaders_.found()}; }

    // The threads end with `stop`.
    [[nodiscard]] std::vector<std::jthread> start(const std::stop_token& stop);

  private:
    const HeldSharesPorts ports_;
    GuardFolder guard_;
    KubePodEvents events_;
    ProcTable processes_;
    EvaderWatch evaders_;
};

}  // namespace tessera
