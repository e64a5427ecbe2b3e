#include "app/scheduler/slip_teller.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"

namespace tessera {

void SlipTeller::run_round() {
    if (tools_.begin_write && !tools_.begin_write({})) return;
    const auto slips = tools_.keeper.ask([](ClusterState& state) { return state.slips(); });
    std::erase_if(told_, [&](const auto& of) { return !slips.contains(of.first); });
    for (const auto& [uid, of] : slips) {
        const auto before = told_.find(uid);
        if (before != told_.end() && before->second == of) continue;
        const auto told =
            tools_.events.tell({.pod = uid,
                                .name = of.name,
                                .type = PodEventType::warning,
                                .reason = "UnknownAnnotation",
                                .message = fmt::format("{}", fmt::join(of.texts, "; ")),
                                .source = "tessera-controller"});
        if (!told) {
            log_event(Event::slip_untold, {{"pod", of.name.str()}, {"reason", told.error().text}});
            if (told.error().code == Code::unavailable) return;
        }
        told_.insert_or_assign(uid, of);
    }
}

void SlipTeller::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        run_round();
        tools_.clock.sleep_for(kPeriod, stop);
    }
}

}  // namespace tessera
