// Which of several controllers may write: the one that holds the Lease. The algorithm is that of
// Kubernetes' own components (client-go, tools/leaderelection), with a fence: a leader stops
// writing while its Lease is still good for as long as a write may take, so that no write of an old
// leader meets those of a new one.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "ports/clock.hpp"
#include "ports/kube_api.hpp"
#include "ports/lease_store.hpp"

namespace tessera {

struct ElectionOptions {
    std::string identity;  // of this process, and of no other that runs at the same time
    std::string url;       // where it answers
    // Without a renewal for so long, others take over; a leader renews much more often.
    std::chrono::seconds duration{10};
    std::chrono::milliseconds renew{2'000};
    std::chrono::milliseconds retry{1'000};
    // What a write of a process that was killed may still take: who finds the Lease with his own
    // identity was another process when he took it, and waits for so long.
    std::chrono::milliseconds write = KubeApi::kBindTakes;
};

// Any thread may ask; one runs it.
class Election {
  public:
    // All that is referred to outlives the election. `elected` is called by the running thread each
    // time the Lease was won and no earlier write of another can land any more, with the number of
    // the term; it must not block. The leader writes nothing before begin_term(): its view must
    // have caught up with its predecessor's writes.
    Election(LeaseStore& store, Clock& clock, ElectionOptions options,
             std::function<void(int term)> elected);

    // Wins, renews and loses until `stop`; then gives the Lease back, so that the next one need not
    // wait; not before the last write that was allowed is over, to us or to the process that had
    // the Lease under our identity. Everything that writes must have ended by then.
    void run(const std::stop_token& stop);
    // One round; returns the pause until the next.
    std::chrono::milliseconds step();
    void give_back();

    // No effect when a later term has begun or this one is over.
    void begin_term(int term);
    // Whether a write that is over by then may begin now.
    [[nodiscard]] bool may_write(std::chrono::nanoseconds within) const;
    // The same for a write that does begin: the Lease is not given back before it is over.
    [[nodiscard]] bool begin_write(std::chrono::nanoseconds within);
    // Where the leader answers; empty when nobody leads, or we do.
    [[nodiscard]] std::string leader_url() const;

  private:
    std::chrono::milliseconds renew();
    std::chrono::milliseconds look();
    Result<> take(const Lease& from);
    std::chrono::milliseconds announce(std::chrono::milliseconds pause);
    void lose();
    [[nodiscard]] bool is_good() const;
    [[nodiscard]] bool covers(std::chrono::nanoseconds end) const;  // with mutex_ held

    LeaseStore& store_;
    Clock& clock_;
    const ElectionOptions options_;
    const std::function<void(int term)> elected_;

    // Of the running thread.
    struct Won {
        int term = 0;
        std::chrono::nanoseconds writes_from{};
    };
    std::optional<Lease> mine_;
    std::optional<Won> won_;  // a term that elected_ was not told of yet
    std::string seen_version_;
    std::chrono::nanoseconds seen_since_{};

    mutable std::mutex mutex_;
    std::chrono::nanoseconds good_until_{};  // guarded by mutex_, like the rest
    std::chrono::nanoseconds last_write_ends_{};
    int term_ = 0;
    bool term_begun_ = false;
    std::string leader_url_;
};

}  // namespace tessera
