#include "app/agent/limit_events.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace tessera {
namespace {

PodEvent limit_event(const ShareUse& use) {
    return {.pod = use.pod,
            .name = use.name,
            .type = PodEventType::warning,
            .reason = "GpuMemoryLimit",
            .message = fmt::format(
                "Container {} has reached its limit of {} on {}: it was refused memory (CUDA says "
                "out of memory), and holds {}. A larger share is asked for by tessera resize",
                use.container, to_string(use.limit), use.card.str(), to_string(use.held)),
            .source = "tessera-agent"};
}

}  // namespace

void LimitEvents::look() {
    std::set<Key> still_done;
    bool is_away = false;
    for (const ShareUse& use : shares_.uses()) {
        const Key key{use.pod, use.container};
        const bool is_done = done_.contains(key) || still_done.contains(key) ||
                             shares_.is_told(use.pod, use.container);
        if (is_done) still_done.insert(key);
        if (is_done || is_away || use.refusals == 0 || use.name.name.empty()) continue;
        const auto told = events_.tell(limit_event(use));
        if (!told) log_event(Event::api_trouble, {{"reason", told.error().text}});
        is_away = !told && told.error().code == Code::unavailable;
        if (!is_away) still_done.insert(key);
        if (told) shares_.note_told(use.pod, use.container);
    }
    done_ = std::move(still_done);
}

void LimitEvents::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        clock.sleep_for(kLimitLook, stop);
    }
}

}  // namespace tessera
