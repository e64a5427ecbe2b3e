// Lets a refusal wait for what kube-scheduler knows already and we do not.
//
// When a pod ends, kube-scheduler hears of it by its own watch and asks at once for the pods that
// wait. Our watch may be milliseconds behind: a refusal from the old view would stand until
// something else happens in the cluster, which may take five minutes. So a refusal is given only
// after another look at a view that is kLag newer.
//
// kube-scheduler asks for one pod at a time. Were each of a thousand waiting pods to cost kLag,
// those that fit would wait for them; after one wait the next kPause of refusals is given at once.
// Left open by that: a pod that ends within kPause, when kube-scheduler asks before our watch shows
// the end. It is asked for again at the next event of the cluster.
#pragma once

#include <atomic>
#include <chrono>

#include "ports/clock.hpp"

namespace tessera {

class SecondLook {
  public:
    static constexpr std::chrono::milliseconds kLag{150};
    static constexpr std::chrono::milliseconds kPause{450};

    explicit SecondLook(Clock& clock) : clock_(clock) {}

    // True after a wait of kLag: look again. False at once when another call waited within the last
    // kPause. Any thread.
    bool wait() {
        const std::chrono::nanoseconds now = clock_.steady();
        std::chrono::nanoseconds next = next_.load();
        if (now < next || !next_.compare_exchange_strong(next, now + kLag + kPause)) return false;
        clock_.sleep_for(kLag);
        return true;
    }

  private:
    Clock& clock_;
    std::atomic<std::chrono::nanoseconds> next_{std::chrono::nanoseconds::min()};
};

}  // namespace tessera
