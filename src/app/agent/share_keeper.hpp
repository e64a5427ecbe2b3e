// Removes what was made to enforce the shares of pods that are over. Those are the pods that the
// API server shows as finished or removed, and the pods that neither kubelet's record nor the API
// server knows (kubelet forgets a pod when it next gives out devices). Nothing is removed while a
// process of the pod uses it: a pod may be deleted by force, or lost from kubelet's record, while
// its containers run on.
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
    void forget_unused(const std::set<PodUid>& pods);
    void forget_the_forgotten();
    void forget_the_over();

    ShareHolder& shares_;
    DeviceHolders& record_;

    std::mutex mutex_;
    std::set<PodUid> seen_;  // by the watch, and not over; guarded by mutex_, like the next
    std::set<PodUid> over_;
    bool listed_ = false;  // the watch has shown all pods at least once; guarded by mutex_
};

}  // namespace tessera
