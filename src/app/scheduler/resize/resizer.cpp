#include "app/scheduler/resize/resizer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "domain/allocation/resize_text.hpp"
#include "wire/kube/binding_annotations.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/resize_json.hpp"

namespace tessera {

// A new leader's wait for its predecessor's writes must cover these writes, too (election.hpp).
static_assert(PodResizes::kTakes <= KubeApi::kBindTakes);

void Resizer::run_round(const std::stop_token& stop) {
    if (!tools_.fence.leads()) return;
    const auto resize_requests =
        tools_.cache.call([](ClusterState& state) { return state.resize_requests(); });
    for (const auto& [uid, name] : resize_requests)
        open_.try_emplace(uid).first->second.name = name;
    const Time now = tools_.clock.steady();
    for (auto at = open_.begin(); at != open_.end() && !stop.stop_requested();) {
        auto& [uid, open] = *at;
        const bool is_closed = open.written_on.empty() && !resize_requests.contains(uid);
        if (!is_closed && open.rest_until > now) {
            ++at;
            continue;
        }
        const auto turn = is_closed ? Turn::over : look_after(uid, open);
        if (!turn) {
            log_event(Event::resize_error,
                      {{"pod", open.name.str()}, {"reason", turn.error().text}});
        }
        if (turn && *turn == Turn::over) {
            at = open_.erase(at);
            continue;
        }
        if (turn && *turn == Turn::answered) open.rest = {};
        open.rest =
            std::clamp<std::chrono::milliseconds>(open.rest * 2, kShortestRest, kLongestRest);
        open.rest_until = now + open.rest;
        ++at;
    }
}

Result<Resizer::Turn> Resizer::look_after(const PodUid& uid, Open& open) {
    const auto pod = tools_.pods.read(open.name);
    if (!pod && pod.error().code == Code::not_found) return Turn::over;
    if (!pod) return fail(pod.error());
    if (pod->info.uid != uid || pod->info.finished) return Turn::over;
    // A write is for one version of the pod. If another version was read, the write has happened or
    // never will.
    const bool is_over = open.written_on != pod->version;
    if (is_over) {
        open.written_on.clear();
        open.is_uncertain = false;
    }
    const auto decision = tools_.cache.call(
        [&](ClusterState& state) { return state.begin_resize(pod->info, is_over); });
    if (!decision) return refuse(*pod, decision.error());
    switch (decision->kind) {
        case ResizeDecision::Kind::done:
            return Turn::over;
        case ResizeDecision::Kind::later:
            return Turn::again;
        case ResizeDecision::Kind::write:
            break;
    }
    return grant(open, *pod, *decision);
}

Result<Resizer::Turn> Resizer::grant(Open& open, const PodResizes::Shown& pod,
                                     const ResizeDecision& decision) {
    const PodInfo& info = pod.info;
    auto annotations =
        allocation_annotations(decision.after, decision.node, tools_.clock.unix_ns(), tools_.seal);
    annotations.emplace(key::kResizeRefused, "");
    const auto end = [&] {
        tools_.cache.post([uid = info.uid](ClusterState& state) { state.end_resize(uid); });
    };
    // Nothing that may take long may come between this and the write.
    if (!tools_.fence.begin(PodResizes::kTakes)) {
        if (open.written_on.empty()) end();
        return Turn::again;
    }
    open.written_on = pod.version;
    const auto written = tools_.pods.write(info.uid, info.name, pod.version, annotations);
    if (written) {
        const std::string what = resize_text(decision.before, decision.after);
        log_event(
            Event::pod_resized,
            {{"pod", info.name.str()}, {"revision", decision.after.revision}, {"what", what}});
        tools_.metrics.count_resize(true);
        tell(info, PodEventType::normal, kResized, what);
        return Turn::answered;
    }
    // Conflict: there is another version by now, which the next turn reads. Unavailable: no answer.
    if (written.error().code == Code::conflict) return Turn::again;
    if (written.error().code == Code::unavailable) {
        open.is_uncertain = true;
    } else if (!open.is_uncertain) {
        open.written_on.clear();
        end();
    }
    return fail(written.error());
}

// Written on the version that was read: if an earlier write still happens, this one does not.
Result<Resizer::Turn> Resizer::refuse(const PodResizes::Shown& pod, const Error& reason) {
    if (!tools_.fence.begin(PodResizes::kTakes)) return Turn::again;
    const PodInfo& info = pod.info;
    const auto written = tools_.pods.write(
        info.uid, info.name, pod.version,
        {{std::string(key::kResizeRefused), write_resize_refusal(pod.requested, reason)}});
    if (!written && written.error().code == Code::conflict) return Turn::again;
    if (!written) return fail(written.error());
    log_event(Event::resize_refused, {{"pod", info.name.str()}, {"reason", reason.text}});
    tools_.metrics.count_resize(false);
    tell(info, PodEventType::warning, kResizeRefused, reason.text);
    return Turn::answered;  // the next turn gives back what an earlier turn reserved
}

// The event is for people; only the annotations count.
void Resizer::tell(const PodInfo& pod, PodEventType type, const std::string& reason,
                   const std::string& message) {
    const auto reported = tools_.events.tell({.pod = pod.uid,
                                              .name = pod.name,
                                              .type = type,
                                              .reason = reason,
                                              .message = message,
                                              .source = "tessera-controller"});
    if (reported) return;
    log_event(Event::resize_error, {{"pod", pod.name.str()}, {"reason", reported.error().text}});
}

}  // namespace tessera
