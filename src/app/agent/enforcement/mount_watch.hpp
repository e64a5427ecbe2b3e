// Checks that what enforces a container's share stays in force, above all the files where its
// programs look for them. A tenant with the right to mount can cover them. Without any right it can
// remove a mount: a second container removes the file under the mount, in a volume that both
// containers have.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/agent/enforcement/enforcers.hpp"
#include "base/mutex.hpp"
#include "ports/kube/pod_events.hpp"
#include "ports/process_table.hpp"

namespace tessera {

struct MountWatchPorts {
    Enforcers enforcers;
    ProcessTable& processes;
    PodEvents& events;
};

class MountWatch {
  public:
    static constexpr std::chrono::seconds kPeriod{5};
    // A process whose mounts cannot be read in this many looks in a row is reported. A process that
    // is ending is unreadable for a moment, too.
    static constexpr int kUnreadableLooks = 3;

    // kills_them: the first process of a container that lost our files is killed, so that kubelet
    // starts the container again; otherwise the container is only reported. A container whose
    // mounts cannot be read is never killed for that, because its process may be ending.
    MountWatch(MountWatchPorts ports, bool kills_them)
        : ports_(std::move(ports)), kills_them_(kills_them) {}

    // Starts to watch a container with enforced shares; `pid` is its first process. Any thread.
    void started(EnforcedContainer container, std::int64_t pid);
    // Checks all watched containers once. Call it from one thread only.
    void look();

  private:
    struct Watched {
        EnforcedContainer container;
        std::int64_t pid = 0;
        std::optional<std::int64_t> started_at;  // to detect a reused pid
        bool is_reported = false;
        int unreadable_looks = 0;  // in a row
    };
    using Key = std::pair<PodUid, std::string>;

    [[nodiscard]] bool is_there(const Watched& watched) const;
    // Whether to check it again at the next look.
    bool look_at(Watched& watched);
    // Whether the report is done and need not be repeated. `then`: the action taken, for the event.
    bool report(const Watched& watched, const Error& error, std::string_view then);

    const MountWatchPorts ports_;
    const bool kills_them_;
    Mutex mutex_;
    std::map<Key, Watched> watched_ TESSERA_GUARDED_BY(mutex_);  // by pod and container
};

}  // namespace tessera
