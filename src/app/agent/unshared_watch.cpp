#include "app/agent/unshared_watch.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/agent/process_end.hpp"
#include "base/log.hpp"

namespace tessera {

void UnsharedWatch::found(UnsharedContainer container) {
    if (container.pid <= 0) return;
    const auto started_at = ports_.processes.started_at(container.pid);
    const std::scoped_lock lock(mutex_);
    std::string id = container.id;
    watched_.try_emplace(std::move(id), Watched{std::move(container), started_at});
}

// Without the lock while it reports: found() is called by the runtime's thread.
void UnsharedWatch::look() {
    std::map<std::string, Watched> all;
    {
        const std::scoped_lock lock(mutex_);
        all = watched_;
    }
    for (auto& [id, watched] : all) {
        const bool goes_on = look_at(watched);
        const std::scoped_lock lock(mutex_);
        if (goes_on) {
            watched_.at(id) = std::move(watched);
        } else {
            watched_.erase(id);
        }
    }
}

bool UnsharedWatch::look_at(Watched& watched) {
    const UnsharedContainer& container = watched.container;
    if (!is_still(ports_.processes, container.pid, container.pod_uid, watched.started_at))
        return false;
    if (!std::exchange(watched.was_there, true)) return true;
    if (!watched.is_reported) watched.is_reported = report(container);
    if (ends_them_) end_and_log(ports_.processes, container.pid, container.pod_uid);
    return ends_them_ || !watched.is_reported;
}

bool UnsharedWatch::report(const UnsharedContainer& container) {
    const auto told = ports_.events.tell(
        {.pod = container.pod_uid,
         .name = container.pod,
         .type = PodEventType::warning,
         .reason = kShareMissing,
         .message = fmt::format("Container {} runs without its GPU share: {}{}", container.name,
                                container.reason,
                                ends_them_ ? ". The container is restarted"
                                           : ". Delete the pod, so that it is made anew"),
         .source = "tessera-agent"});
    if (told) return true;
    log_event(Event::api_trouble, {{"reason", told.error().text}});
    return told.error().code != Code::unavailable;
}

void UnsharedWatch::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        clock.sleep_for(kPeriod, stop);
    }
}

}  // namespace tessera
