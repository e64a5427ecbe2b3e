#include "app/agent/share_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr const char* kSource = "tessera-agent";

PodEvent limit_event(const ShareUse& use) {
    return {.pod = use.pod,
            .name = use.name,
            .type = PodEventType::warning,
            .reason = "GpuMemoryLimit",
            .message = fmt::format(
                "Container {} has reached its limit of {} on {}: it was refused memory (CUDA says "
                "out of memory), and holds {}. A larger share is asked for by tessera resize",
                use.container, to_string(use.limit), use.card.str(), to_string(use.held)),
            .source = kSource};
}

PodEvent damage_event(const ShareUse& use) {
    return {.pod = use.pod,
            .name = use.name,
            .type = PodEventType::warning,
            .reason = "GpuAccountsDamaged",
            .message = fmt::format(
                "Container {} has cut or overwritten the file in which its GPU memory is counted "
                "(/usr/local/tessera/accounts): its processes get no more GPU memory until the "
                "container starts again, and what they hold is not known",
                use.container),
            .source = kSource};
}

}  // namespace

// Its use of each of its cards.
struct ShareEvents::Container {
    std::vector<ShareUse> uses;

    // As many as a tenant may have written: the sum stops where it would be too large.
    [[nodiscard]] std::int64_t refusals() const {
        std::int64_t sum = 0;
        for (const ShareUse& use : uses)
            sum += std::min(use.refusals, std::numeric_limits<std::int64_t>::max() - sum);
        return sum;
    }
    [[nodiscard]] const ShareUse& most_refused() const {
        return *std::ranges::max_element(uses, {}, &ShareUse::refusals);
    }
    [[nodiscard]] bool is_damaged() const {
        return std::ranges::any_of(uses, &ShareUse::is_damaged);
    }
};

void ShareEvents::look() {
    std::map<Key, Container> containers;
    for (ShareUse& use : shares_.uses()) {
        const Key key{use.pod, use.container};
        if (!use.name.name.empty()) containers[key].uses.push_back(std::move(use));
    }
    is_away_ = false;
    still_.clear();
    for (const auto& [key, container] : containers)
        look_at(key, container);
    done_ = std::move(still_);
}

void ShareEvents::look_at(const Key& key, const Container& container) {
    const auto& [pod, name] = key;
    const bool is_at_limit = container.refusals() > shares_.refusals_told(pod, name);
    const auto once = [&](Word word, bool holds, const ShareUse& use, auto&& event) {
        if (!holds) return false;
        const bool is_done = done_.contains({key, word});
        const Telling telling = is_done ? Telling::refused : tell(event(use));
        if (telling != Telling::away) still_.insert({key, word});
        return telling == Telling::told;
    };
    once(Word::damaged, container.is_damaged(), container.uses.front(), damage_event);
    if (once(Word::at_limit, is_at_limit, container.most_refused(), limit_event))
        shares_.note_told(pod, name);
}

ShareEvents::Telling ShareEvents::tell(const PodEvent& event) {
    if (is_away_) return Telling::away;
    const auto told = events_.tell(event);
    if (told) return Telling::told;
    log_event(Event::api_trouble, {{"reason", told.error().text}});
    is_away_ = told.error().code == Code::unavailable;
    return is_away_ ? Telling::away : Telling::refused;
}

void ShareEvents::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        look();
        clock.sleep_for(kShareLook, stop);
    }
}

}  // namespace tessera
