// Reports containers that run without their GPU share, and kills them if told to. The runtime
// started them while it did not call this agent, or after the agent refused them (CRI-O does). NRI
// has no call that ends a container, so the agent works on the node's processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "ports/kube/pod_events.hpp"
#include "ports/process_table.hpp"

namespace tessera {

struct UnsharedContainer {
    std::string id;
    std::string name;
    PodUid pod_uid;
    PodName pod;
    std::int64_t pid = 0;  // of its first process; 0 if the runtime does not say
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

    // kills_them: the container's first process is killed, so that kubelet starts the container
    // again; otherwise the container is only reported.
    UnsharedWatch(UnsharedWatchPorts ports, bool kills_them)
        : ports_(ports), kills_them_(kills_them) {}

    void found(UnsharedContainer container) override;
    // Checks all containers once. Call it from one thread only. A container is reported
    // if it is there in two looks: a refused one has a process until the runtime removes it.
    void look();

  private:
    struct Watched {
        UnsharedContainer container;
        std::optional<std::int64_t> started_at;  // to detect a reused pid
        bool was_there = false;
        bool is_reported = false;
    };

    // Whether to check it again at the next look.
    bool look_at(Watched& watched);
    bool report(const UnsharedContainer& container);

    UnsharedWatchPorts ports_;
    bool kills_them_;
    Mutex mutex_;
    // By container id, since the last check.
    std::map<std::string, Watched> found_ TESSERA_GUARDED_BY(mutex_);
    // Of the watch's thread: by container id, found before the last check.
    std::map<std::string, Watched> watched_;
};

}  // namespace tessera
