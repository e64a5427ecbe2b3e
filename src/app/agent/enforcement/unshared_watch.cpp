#include "app/agent/enforcement/unshared_watch.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "app/agent/enforcement/event_writing.hpp"
#include "app/agent/enforcement/process_end.hpp"

namespace tessera {

void UnsharedWatch::found(UnsharedContainer container) {
    if (container.pid <= 0) return;
    const auto started_at = ports_.processes.started_at(container.pid);
    const MutexLock lock(mutex_);
    std::string id = container.id;
    found_.try_emplace(std::move(id), Watched{std::move(container), started_at});
}

void UnsharedWatch::look() {
    {
        const MutexLock lock(mutex_);
        watched_.merge(found_);  // one that is watched already is kept
        found_.clear();
    }
    for (auto at = watched_.begin(); at != watched_.end();)
        at = look_at(at->second) ? std::next(at) : watched_.erase(at);
}

bool UnsharedWatch::look_at(Watched& watched) {
    const UnsharedContainer& container = watched.container;
    if (!is_still(ports_.processes, container.pid, container.pod_uid, watched.started_at))
        return false;
    if (!std::exchange(watched.was_there, true)) return true;
    if (!watched.is_reported) watched.is_reported = report(container);
    if (kills_them_) end_and_log(ports_.processes, container.pid, container.pod_uid);
    return kills_them_ || !watched.is_reported;
}

bool UnsharedWatch::report(const UnsharedContainer& container) {
    return is_final(tell_and_log(
        ports_.events,
        {.pod = container.pod_uid,
         .name = container.pod,
         .type = PodEventType::warning,
         .reason = kShareMissing,
         .message = fmt::format("Container {} runs without its GPU share: {}{}", container.name,
                                container.reason,
                                kills_them_ ? ". The container is restarted"
                                            : ". Delete the pod, so that it is created again"),
         .source = "tessera-agent"}));
}

}  // namespace tessera
