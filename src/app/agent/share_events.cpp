#include "app/agent/share_events.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/agent/event_writing.hpp"

namespace tessera {
namespace {

PodEvent warning(const ShareUse& use, const char* reason, std::string message) {
    return {.pod = use.pod,
            .name = use.name,
            .type = PodEventType::warning,
            .reason = reason,
            .message = std::move(message),
            .source = "tessera-agent"};
}

// Without what it holds: the accounts tell what that is now, not what it was at the refusal.
PodEvent limit_event(const ShareUse& use) {
    return warning(
        use, "GpuMemoryLimit",
        fmt::format("Container {} was refused memory (CUDA says out of memory): it asked for more "
                    "than was left of its limit on {}, which is {}. A larger share is asked for by "
                    "tessera resize",
                    use.container, use.card.str(), to_string(use.limit)));
}

PodEvent damage_event(const ShareUse& use) {
    return warning(
        use, kAccountsDamaged,
        fmt::format("Container {} has cut or overwritten the file in which its GPU memory is "
                    "counted (/usr/local/tessera/accounts): its processes get no more GPU memory "
                    "until the container starts again, and what they hold is not known",
                    use.container));
}

}  // namespace

void ShareEvents::look() {
    is_away_ = false;
    still_.clear();
    for (const ShareUse& use : shares_.uses()) {
        if (use.name.name.empty()) continue;
        if (use.is_damaged) {
            tell_damage(use);
            continue;
        }
        if (shares_.is_damage_told(use)) shares_.note_damage_told(use, false);
        if (is_news(use)) {
            const Telling telling = tell_once({use.pod, use.container, use.card}, limit_event(use));
            if (telling == Telling::told) shares_.note_told(use, {use.limit, ToldLimit::kAll});
        }
    }
    done_ = std::move(still_);
}

void ShareEvents::tell_damage(const ShareUse& use) {
    if (shares_.is_damage_told(use)) return;
    const Telling telling = tell_once({use.pod, use.container, {}}, damage_event(use));
    if (telling == Telling::told) shares_.note_damage_told(use, true);
}

// Also notes it where the limit has changed, or its refusals are counted anew: what came before is
// no news of the limit of now.
bool ShareEvents::is_news(const ShareUse& use) {
    const auto told = shares_.told(use);
    if (!told) return use.refusals > 0;
    const bool is_counted_anew = told->refusals != ToldLimit::kAll && use.refusals < told->refusals;
    if (told->limit != use.limit || is_counted_anew) {
        shares_.note_told(use, {use.limit, use.refusals});
        return false;
    }
    return use.refusals > told->refusals;
}

ShareEvents::Telling ShareEvents::tell_once(const Key& key, const PodEvent& event) {
    if (done_.contains(key) || still_.contains(key)) {
        still_.insert(key);
        return Telling::done_before;
    }
    if (is_away_) return Telling::away;
    const auto told = tell_and_log(events_, event);
    is_away_ = !is_settled(told);
    if (is_away_) return Telling::away;
    still_.insert(key);
    return told ? Telling::told : Telling::refused;
}

void ShareEvents::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        clock.sleep_for(kShareLook, stop);
    }
}

}  // namespace tessera
