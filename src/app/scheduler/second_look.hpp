// Lets a refusal wait for what kube-scheduler knows already and we do not.
//
// When a pod ends, kube-scheduler hears of it by its own watch and asks at once for the pods that
// wait. Our watch may be milliseconds behind: a refusal from the old view would stand until
// something else happens in the cluster, which may take five minutes. So a refusal is given only
// after another look at a view that is kLag newer.
//
// kube-scheduler asks for one pod at a time. Were each of a thousand waiting pods to cost kLag,
// those that fit would wait for them: in the long run every kEvery has one wait, and up to kBurst
// may come at once (a few pods that wait are asked for when another is told to end, and again when
// it has ended). Left open by that: the later ones of more waiting pods than that, when one ends
// just before they are asked for. Others of them, asked for later, find the room.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "ports/clock.hpp"

namespace tessera {

class SecondLook {
  public:
    static constexpr std::chrono::milliseconds kLag{150};
    static constexpr std::chrono::milliseconds kEvery{600};
    static constexpr int kBurst = 16;

    explicit SecondLook(Clock& clock) : clock_(clock) {}

    // True after a wait of kLag: look again. False at once when others have waited too often. Any
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
    // The waits so far are paid for, at one per kEvery, by then.
    std::atomic<std::chrono::nanoseconds> paid_until_{std::chrono::nanoseconds::zero()};
};

}  // namespace tessera
