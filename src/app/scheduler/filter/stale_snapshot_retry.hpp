// Delays a refusal until our watch has caught up with kube-scheduler's.
//
// When a pod ends, kube-scheduler learns of it by its own watch and asks at once for the pods that
// wait. Our watch may be milliseconds behind. A refusal from the old snapshot would stand until
// something else happens in the cluster, which may take five minutes. So a refusal is given only
// after another look at a snapshot that is kLag newer.
//
// kube-scheduler asks for one pod at a time. If each of a thousand waiting pods cost kLag, pods
// that fit would wait for them. So in the long run one wait is allowed per kEvery, and up to kBurst
// may come at once. (A few waiting pods are asked for when a victim is evicted, and again when it
// has ended.) One case stays open: many pods wait, and a pod ends just before the later ones of
// them are asked for. These get no wait, but others of them, asked for later, find the free GPUs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "ports/clock.hpp"

namespace tessera {

class StaleSnapshotRetry {
  public:
    static constexpr std::chrono::milliseconds kLag{150};
    static constexpr std::chrono::milliseconds kEvery{600};
    static constexpr int kBurst = 16;

    explicit StaleSnapshotRetry(Clock& clock) : clock_(clock) {}

    // True after a wait of kLag: look again. False at once if there were too many waits. Any
    // thread.
    bool wait() {
        const std::chrono::nanoseconds now = clock_.steady();
        std::chrono::nanoseconds paid = paid_until_.load();
        std::chrono::nanoseconds begin{};
        do {
            begin = std::max(paid, now);
            if (begin - now > kEvery * (kBurst - 1)) return false;
        } while (!paid_until_.compare_exchange_weak(paid, begin + kEvery));
        clock_.sleep_for(kLag);
        return true;
    }

  private:
    Clock& clock_;
    // The time until which the waits so far are paid for, at one per kEvery.
    std::atomic<std::chrono::nanoseconds> paid_until_{std::chrono::nanoseconds::zero()};
};

}  // namespace tessera
