// Containers that run although the gate does not let them: the runtime started them while it did
// not ask this agent, or after the agent refused them (CRI-O does). NRI has no way to end a
// container, so the node's own processes are looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/ids.hpp"
#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/process_table.hpp"

namespace tessera {

struct UnsharedContainer {
    std::string id;
    std::string name;
    PodUid pod_uid;
    PodName pod;
    std::int64_t pid = 0;  // of its first process; 0 where the runtime does not say
    std::string reason;
};

class UnsharedContainers {
  public:
    virtual ~UnsharedContainers() = default;
    // Any thread; returns at once.
    virtual void found(UnsharedContainer container) = 0;
};

struct UnsharedWatchPorts {
    ProcessTable& processes;
    PodEvents& events;
};

class UnsharedWatch final : public UnsharedContainers {
  public:
    static constexpr std::chrono::seconds kPeriod{5};

    // ends_them: the container's first process is killed, so that kubelet starts the container
    // again; otherwise it is reported alone.
    UnsharedWatch(UnsharedWatchPorts ports, bool ends_them)
        : ports_(ports), ends_them_(ends_them) {}

    void found(UnsharedContainer container) override;
    // One look at all of them. One thread, like run(). A container that is there at two looks is
    // reported: one that was refused has a process for the moment until the runtime removes it.
    void look();
    // One look every kPeriod, until `stop`.
    void run(Clock& clock, const std::stop_token& stop);

  private:
    struct Watched {
        UnsharedContainer container;
        std::optional<std::int64_t> started_at;  // a pid is given out again
        bool was_there = false;
        bool is_reported = false;
    };

    // Whether it is to be looked at again.
    bool look_at(Watched& watched);
    bool report(const UnsharedContainer& container);

    UnsharedWatchPorts ports_;
    bool ends_them_;
    std::mutex mutex_;                        // of found_; the rest is of the thread that looks
    std::map<std::string, Watched> found_;    // by the container's id, since the last look
    std::map<std::string, Watched> watched_;  // likewise, those before
};

}  // namespace tessera
