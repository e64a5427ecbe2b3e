// Decides which of several controllers may write: the one that holds the Lease. The algorithm is
// that of Kubernetes' own components (client-go, tools/leaderelection), with an added fence. A
// leader stops writing while its Lease is still good for as long as a write may take, so no write
// of an old leader overlaps those of a new one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kube/lease_store.hpp"

namespace tessera {

struct ElectionOptions {
    std::string identity;  // unique among the processes that run at the same time
    std::string url;       // where this process answers
    // Without a renewal for this long, other replicas take over; a leader renews much more often.
    std::chrono::seconds duration{10};
    std::chrono::milliseconds renew{2'000};
    std::chrono::milliseconds retry{1'000};
    // How long a write of a killed process may still take. A process that finds the Lease with its
    // own identity follows an earlier process, and waits this long for that one's writes.
    std::chrono::milliseconds write = KubeApi::kBindTakes;
    // Asked before each round, by the running thread. While it is false, this process does not take
    // the Lease, and gives it back if it has it. Empty: always true.
    std::function<bool()> is_candidate{};
};

// Any thread may call the const functions, begin_term() and begin_write(); one thread runs the
// election.
class Election {
  public:
    // All references outlive the election. The running thread calls `elected`, with the number of
    // the term, each time the Lease was won and no earlier write of another leader can land any
    // more. It must not block. The leader writes nothing before begin_term(): its snapshot must
    // first have caught up with its predecessor's writes.
    Election(LeaseStore& store, Clock& clock, ElectionOptions options,
             std::function<void(int term)> elected);

    // Wins, renews and loses the Lease until `stop`, and then gives it back.
    void run(const std::stop_token& stop);
    // One round; returns the pause until the next.
    std::chrono::milliseconds step();
    // So the next leader need not wait. No further write is allowed. Waits until the last allowed
    // one is over, of this process or of the one that had the Lease under our identity.
    void give_back();

    // No effect if a later term has begun or this one is over.
    void begin_term(int term);
    // Whether a write that takes at most `within` may begin now.
    [[nodiscard]] bool may_write(std::chrono::nanoseconds within) const;
    // The same for a write that does begin: the Lease is not given back before it is over.
    [[nodiscard]] bool begin_write(std::chrono::nanoseconds within);
    // Returns when a write may begin, after `most`, or on `stop`.
    void wait_to_write(std::chrono::milliseconds most, const std::stop_token& stop) const;
    // Where the leader answers; empty if there is no leader, or if this process leads.
    [[nodiscard]] std::string leader_url() const;

  private:
    std::chrono::milliseconds renew();
    std::chrono::milliseconds look(bool is_candidate);
    Result<> take(const Lease& from);
    std::chrono::milliseconds announce(std::chrono::milliseconds pause);
    void lose();
    [[nodiscard]] bool is_good() const;
    [[nodiscard]] bool covers(std::chrono::nanoseconds end) const TESSERA_REQUIRES(mutex_);

    LeaseStore& store_;
    Clock& clock_;
    const ElectionOptions options_;
    const std::function<void(int term)> elected_;

    // Used by the running thread.
    struct Won {
        int term = 0;
        std::chrono::nanoseconds writes_from{};
    };
    std::optional<Lease> mine_;
    std::optional<Won> won_;  // a term that elected_ was not called for yet
    std::string seen_version_;
    std::chrono::nanoseconds seen_since_{};

    mutable Mutex mutex_;
    std::chrono::nanoseconds good_until_ TESSERA_GUARDED_BY(mutex_){};
    std::chrono::nanoseconds last_write_ends_ TESSERA_GUARDED_BY(mutex_){};
    int term_ TESSERA_GUARDED_BY(mutex_) = 0;
    bool term_begun_ TESSERA_GUARDED_BY(mutex_) = false;
    std::string leader_url_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
