// Looks whether the files that enforce a container's share stay where its programs look for them. A
// tenant can cover them with the right to mount, and can remove a mount without any right: by
// removing, from a second container, the file that it stands on in a volume that both have.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "ports/clock.hpp"
#include "ports/pod_events.hpp"
#include "ports/process_table.hpp"
#include "ports/share_holder.hpp"

namespace tessera {

struct MountWatchPorts {
    const ShareHolder& shares;
    ProcessTable& processes;
    PodEvents& events;
};

class MountWatch {
  public:
    static constexpr std::chrono::seconds kPeriod{5};
    // A process whose mounts cannot be read at this many looks in a row is reported. One that ends
    // is like that for a moment.
    static constexpr int kUnreadableLooks = 3;

    // ends_them: the first process of a container without our files is killed, so that kubelet
    // starts the container again; otherwise it is reported alone. A container whose mounts cannot
    // be read is never killed for that: its process may be on its way to end.
    MountWatch(MountWatchPorts ports, bool ends_them) : ports_(ports), ends_them_(ends_them) {}

    // A container with enforced shares runs; `pid` is its first process. Any thread.
    void started(HeldContainer container, std::int64_t pid);
    // One look at all of them. One thread, like run().
    void look();
    // One look every kPeriod, until `stop`.
    void run(Clock& clock, const std::stop_token& stop);

  private:
    struct Watched {
        HeldContainer container;
        std::int64_t pid = 0;
        std::optional<std::int64_t> started_at;  // a pid is given out again
        bool is_reported = false;
        int unreadable_looks = 0;  // in a row
    };
    using Key = std::pair<PodUid, std::string>;

    [[nodiscard]] bool is_there(const Watched& watched) const;
    // Whether it is to be looked at again.
    bool look_at(Watched& watched);
    // Whether it need not be said again. `then`: what is done about it, for the event.
    bool report(const Watched& watched, const Error& error, std::string_view then);

    const MountWatchPorts ports_;
    const bool ends_them_;
    std::mutex mutex_;
    std::map<Key, Watched> watched_;  // by pod and container; guarded by mutex_
};

}  // namespace tessera
