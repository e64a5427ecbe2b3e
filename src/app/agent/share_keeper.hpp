// Looks after what was made to hold this node's containers: nothing of it stays of pods that are
// over. Such are those that kubelet has forgotten (it forgets when it next gives out devices), and
// before that those that the API server shows as finished or removed, once none of their processes
// lives: a pod may be removed by force while its containers run on.
#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <stop_token>

#include "ports/clock.hpp"
#include "ports/kube_api.hpp"
#include "ports/kubelet.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

class ShareKeeper {
  public:
    static constexpr std::chrono::seconds kForget{10};

    // Both outlive it.
    ShareKeeper(ShareHolder& shares, DeviceHolders& record) : shares_(shares), record_(record) {}

    // What a watch of this node's pods showed. Any thread.
    void take(const PodChanges& changes);
    // Every kForget, until `stop`. One thread.
    void run(Clock& clock, const std::stop_token& stop);

  private:
    void forget_the_forgotten();
    void forget_the_over();

    ShareHolder& shares_;
    DeviceHolders& record_;

    std::mutex mutex_;
    std::set<PodUid> seen_;  // by the watch, and not over; guarded by mutex_, like the next
    std::set<PodUid> over_;
};

}  // namespace tessera
