#include "app/scheduler/resizer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "domain/allocation/resize_text.hpp"
#include "wire/binding_annotations.hpp"
#include "wire/keys.hpp"
#include "wire/resize_json.hpp"

namespace tessera {

// Who waits until nothing of a leader before him can land waits for these writes too
// (election.hpp).
static_assert(PodResizes::kTakes <= KubeApi::kBindTakes);

void Resizer::run_round(const std::stop_token& stop) {
    if (!leads()) return;
    const auto wishes = tools_.keeper.ask([](ClusterState& state) { return state.wishes(); });
    for (const auto& [uid, name] : wishes)
        open_.try_emplace(uid).first->second.name = name;
    const Time now = tools_.clock.steady();
    for (auto at = open_.begin(); at != open_.end() && !stop.stop_requested();) {
        auto& [uid, open] = *at;
        const bool is_closed = open.written_on.empty() && !wishes.contains(uid);
        if (!is_closed && open.rest_until > now) {
            ++at;
            continue;
        }
        const auto turn = is_closed ? Turn::over : look_after(uid, open);
        if (!turn) {
            log_event(Event::resize_trouble,
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

void Resizer::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        run_round(stop);
        tools_.clock.sleep_for(kPeriod, stop);
    }
}

// Announces no write: the Lease can be given back at once.
bool Resizer::leads() const {
    return !tools_.begin_write || tools_.begin_write({});
}

bool Resizer::may_write() const {
    return !tools_.begin_write || tools_.begin_write(PodResizes::kTakes);
}

Result<Resizer::Turn> Resizer::look_after(const PodUid& uid, Open& open) {
    const auto pod = tools_.pods.read(open.name);
    if (!pod && pod.error().code == Code::not_found) return Turn::over;
    if (!pod) return fail(pod.error());
    if (pod->facts.uid != uid || pod->facts.finished) return Turn::over;
    // A write is for one version of the pod. Was another read, it has happened or never will.
    const bool is_over = open.written_on != pod->version;
    if (is_over) {
        open.written_on.clear();
        open.is_in_doubt = false;
    }
    const auto turn = tools_.keeper.ask(
        [&](ClusterState& state) { return state.begin_resize(pod->facts, is_over); });
    if (!turn) return refuse(*pod, turn.error());
    switch (turn->kind) {
        case ResizeTurn::Kind::done:
            return Turn::over;
        case ResizeTurn::Kind::later:
            return Turn::again;
        case ResizeTurn::Kind::write:
            break;
    }
    return grant(open, *pod, *turn);
}

Result<Resizer::Turn> Resizer::grant(Open& open, const PodResizes::Shown& pod,
                                     const ResizeTurn& turn) {
    const PodFacts& facts = pod.facts;
    auto annotations =
        binding_annotations(turn.after, turn.node, tools_.clock.unix_ns(), tools_.seal);
    annotations.emplace(key::kResizeRefused, "");
    const auto end = [&] {
        tools_.keeper.post([uid = facts.uid](ClusterState& state) { state.end_resize(uid); });
    };
    // Nothing that may take long lies between this and the write.
    if (!may_write()) {
        if (open.written_on.empty()) end();
        return Turn::again;
    }
    open.written_on = pod.version;
    const auto written = tools_.pods.write(facts.uid, facts.name, pod.version, annotations);
    if (written) {
        const std::string what = resize_text(turn.before, turn.after);
        log_event(Event::pod_resized,
                  {{"pod", facts.name.str()}, {"revision", turn.after.revision}, {"what", what}});
        tools_.metrics.count_resize(true);
        tell(facts, PodEventType::normal, "Resized", what);
        return Turn::answered;
    }
    // Another version by now, which the next turn reads, or no answer.
    if (written.error().code == Code::conflict) return Turn::again;
    if (written.error().code == Code::unavailable) {
        open.is_in_doubt = true;
    } else if (!open.is_in_doubt) {
        open.written_on.clear();
        end();
    }
    return fail(written.error());
}

// On the version that was read: should a write of before happen after all, this one does not.
Result<Resizer::Turn> Resizer::refuse(const PodResizes::Shown& pod, const Error& reason) {
    if (!may_write()) return Turn::again;
    const PodFacts& facts = pod.facts;
    const auto written = tools_.pods.write(
        facts.uid, facts.name, pod.version,
        {{std::string(key::kResizeRefused), write_resize_refusal(pod.wish, reason)}});
    if (!written && written.error().code == Code::conflict) return Turn::again;
    if (!written) return fail(written.error());
    log_event(Event::resize_refused, {{"pod", facts.name.str()}, {"reason", reason.text}});
    tools_.metrics.count_resize(false);
    tell(facts, PodEventType::warning, "ResizeRefused", reason.text);
    return Turn::answered;  // what was reserved by an earlier turn is given back by the next
}

// For people; what counts stands in the annotations.
void Resizer::tell(const PodFacts& pod, PodEventType type, const std::string& reason,
                   const std::string& message) {
    const auto told = tools_.events.tell({.pod = pod.uid,
                                          .name = pod.name,
                                          .type = type,
                                          .reason = reason,
                                          .message = message,
                                          .source = "tessera-controller"});
    if (told) return;
    log_event(Event::resize_trouble, {{"pod", pod.name.str()}, {"reason", told.error().text}});
}

}  // namespace tessera
