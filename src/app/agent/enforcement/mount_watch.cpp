#include "app/agent/enforcement/mount_watch.hpp"

#include <fmt/format.h>

#include <vector>

#include "app/agent/enforcement/event_writing.hpp"
#include "app/agent/enforcement/process_end.hpp"
#include "base/log.hpp"

namespace tessera {

void MountWatch::started(EnforcedContainer container, std::int64_t pid) {
    if (pid <= 0) return;
    const auto started_at = ports_.processes.started_at(pid);
    const MutexLock lock(mutex_);
    Key key{container.pod, container.container};
    watched_.insert_or_assign(std::move(key), Watched{std::move(container), pid, started_at});
}

void MountWatch::look() {
    std::map<Key, Watched> all;
    {
        const MutexLock lock(mutex_);
        all = watched_;
    }
    for (auto& [key, watched] : all) {
        const bool goes_on = look_at(watched);
        const MutexLock lock(mutex_);
        const auto now = watched_.find(key);
        // A container that started again meanwhile has another process.
        if (now == watched_.end() || now->second.pid != watched.pid ||
            now->second.started_at != watched.started_at)
            continue;
        if (goes_on) {
            now->second.is_reported = watched.is_reported;
            now->second.unreadable_looks = watched.unreadable_looks;
        } else {
            watched_.erase(now);
        }
    }
}

bool MountWatch::is_there(const Watched& watched) const {
    return is_still(ports_.processes, watched.pid, watched.container.pod, watched.started_at);
}

// The kernel reuses pids, so the pid must still belong to the same process.
bool MountWatch::look_at(Watched& watched) {
    const PodUid& pod = watched.container.pod;
    if (!is_there(watched)) return false;
    const auto mounted = ports_.enforcers.verify(watched.container, watched.pid);
    const bool is_readable = mounted || mounted.error().code == Code::conflict;
    watched.unreadable_looks = is_readable ? 0 : watched.unreadable_looks + 1;
    if (mounted || (!is_readable && watched.unreadable_looks < kUnreadableLooks)) return true;
    // The process may have ended between the two checks, and its mounts with it.
    if (!is_there(watched)) return false;
    const bool ends = is_readable && kills_them_;
    if (!watched.is_reported) {
        watched.is_reported =
            report(watched, mounted.error(), ends ? ". The container is restarted" : "");
    }
    if (ends) end_and_log(ports_.processes, watched.pid, pod);
    return true;
}

bool MountWatch::report(const Watched& watched, const Error& error, std::string_view then) {
    log_event(Event::enforcement_covered, {{"pod_uid", watched.container.pod.str()},
                                           {"pod", watched.container.name.str()},
                                           {"reason", error.text}});
    if (watched.container.name.name.empty()) return true;
    return is_final(tell_and_log(
        ports_.events,
        {.pod = watched.container.pod,
         .name = watched.container.name,
         .type = PodEventType::warning,
         .reason = kEnforcementCovered,
         .message = fmt::format("What enforces the GPU share is no longer in force: {}{}",
                                error.text, then),
         .source = "tessera-agent"}));
}

}  // namespace tessera
