#include "app/agent/enforcement/share_events.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/agent/enforcement/event_writing.hpp"

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

// The event does not say how much the container uses: the accounts show the amount now, not at the
// refusal.
PodEvent limit_event(const ShareUse& use) {
    return warning(
        use, kMemoryLimit,
        fmt::format("Container {} was refused memory (CUDA says out of memory): it asked for more "
                    "than was left of its limit on {}, which is {}. To request more, run: "
                    "tessera resize POD --memory SIZE",
                    use.container, use.gpu.str(), rounded_up(use.limit)));
}

PodEvent damage_event(const ShareUse& use) {
    return warning(
        use, kAccountsDamaged,
        fmt::format("Container {} has cut or overwritten the file in which its GPU memory is "
                    "counted (/usr/local/tessera/accounts): its processes get no more GPU memory "
                    "until the container starts again, and what they hold is not known",
                    use.container));
}

PodEvent context_event(const ShareUse& use) {
    return warning(
        use, kContextRefused,
        fmt::format("A program of container {} got no GPU (CUDA says not permitted): it would have "
                    "had more of {} than the container's {} percent. Either NVIDIA MPS did not "
                    "serve the GPU when it started: start it again. Or it changed "
                    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE or CUDA_MPS_PIPE_DIRECTORY: leave these as "
                    "the container got them",
                    use.container, use.gpu.str(), use.cores.value));
}

}  // namespace

void ShareEvents::look() {
    is_away_ = false;
    still_.clear();
    const ShareUsage usage = shares_.usage();
    for (const ShareUse& use : usage.uses) {
        if (use.name.name.empty()) continue;
        if (use.is_damaged) {
            tell_notice(ContainerNotice::damaged_accounts, use, damage_event(use));
            continue;
        }
        if (reported_.is_reported(ContainerNotice::damaged_accounts, use))
            reported_.note_reported(ContainerNotice::damaged_accounts, use, false);
        if (use.refused_contexts > 0)
            tell_notice(ContainerNotice::refused_context, use, context_event(use));
        if (is_news(use)) {
            const Telling telling =
                tell_once({use.pod, use.container, kMemoryLimit, use.gpu}, limit_event(use));
            if (telling == Telling::reported)
                reported_.note_reported(use, {use.limit, ReportedLimit::kAll});
        }
    }
    done_ = std::move(still_);
}

void ShareEvents::tell_notice(ContainerNotice notice, const ShareUse& use, const PodEvent& event) {
    if (reported_.is_reported(notice, use)) return;
    const Telling telling = tell_once({use.pod, use.container, event.reason, {}}, event);
    if (telling == Telling::reported) reported_.note_reported(notice, use, true);
}

// If the limit has changed, or its refusals are counted from zero again, this notes the new state
// and returns false: earlier refusals say nothing about the limit of now.
bool ShareEvents::is_news(const ShareUse& use) {
    const auto reported = reported_.reported(use);
    if (!reported) return use.refusals > 0;
    const bool is_counted_from_zero =
        reported->refusals != ReportedLimit::kAll && use.refusals < reported->refusals;
    if (reported->limit != use.limit || is_counted_from_zero) {
        reported_.note_reported(use, {use.limit, use.refusals});
        return false;
    }
    return use.refusals > reported->refusals;
}

ShareEvents::Telling ShareEvents::tell_once(const Key& key, const PodEvent& event) {
    if (done_.contains(key) || still_.contains(key)) {
        still_.insert(key);
        return Telling::done_before;
    }
    if (is_away_) return Telling::away;
    const auto reported = tell_and_log(events_, event);
    is_away_ = !is_final(reported);
    if (is_away_) return Telling::away;
    still_.insert(key);
    return reported ? Telling::reported : Telling::refused;
}

}  // namespace tessera
