#include "app/scheduler/observe/unknown_annotation_reporter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"

namespace tessera {

void UnknownAnnotationReporter::run_round() {
    if (!ports_.fence.leads()) return;
    const auto unknown_annotations =
        ports_.cache.call([](ClusterState& state) { return state.unknown_annotations(); });
    std::erase_if(reported_,
                  [&](const auto& of) { return !unknown_annotations.contains(of.first); });
    for (const auto& [uid, of] : unknown_annotations) {
        const auto before = reported_.find(uid);
        if (before != reported_.end() && before->second == of) continue;
        const auto reported =
            ports_.events.tell({.pod = uid,
                                .name = of.name,
                                .type = PodEventType::warning,
                                .reason = kUnknownAnnotation,
                                .message = fmt::format("{}", fmt::join(of.texts, "; ")),
                                .source = "tessera-controller"});
        if (!reported) {
            log_event(Event::unknown_annotation_unreported,
                      {{"pod", of.name.str()}, {"reason", reported.error().text}});
            if (reported.error().code == Code::unavailable) return;
        }
        reported_.insert_or_assign(uid, of);
    }
}

}  // namespace tessera
