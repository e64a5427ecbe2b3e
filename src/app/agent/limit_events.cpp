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
                "out of memory), and holds {}. A larger share is asked for in the pod's spec",
                use.container, to_string(use.limit), use.card.str(), to_string(use.held)),
            .source = "tessera-agent"};
}

}  // namespace

void tell_of_limits(ShareHolder& shares, PodEvents& events) {
    for (const ShareUse& use : shares.uses()) {
        const bool is_known = !use.name.name.empty();
        if (use.refusals == 0 || !is_known || shares.is_told(use.pod, use.container)) continue;
        const auto told = events.tell(limit_event(use));
        if (told || told.error().code == Code::not_found) {
            shares.note_told(use.pod, use.container);
            continue;
        }
        log_event(Event::api_trouble, {{"reason", told.error().text}});
        return;  // the API server would say the same of the others
    }
}

void watch_limits(ShareHolder& shares, PodEvents& events, Clock& clock,
                  const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        tell_of_limits(shares, events);
        clock.sleep_for(kLimitLook, stop);
    }
}

}  // namespace tessera
