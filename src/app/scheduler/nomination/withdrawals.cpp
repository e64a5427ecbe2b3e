#include "app/scheduler/nomination/withdrawals.hpp"

#include "base/log.hpp"

namespace tessera {

void Withdrawals::add(const PodUid& uid, const PodName& pod, const NodeName& node) {
    due_.insert_or_assign(uid, Withdrawal{pod, node, clock_.steady() + kShown});
}

bool Withdrawals::is_due(const PodUid& uid, const NodeName& node) const {
    const auto at = due_.find(uid);
    return at != due_.end() && at->second.node == node;
}

// A pod that is being bound may wait again with the same nomination.
std::optional<NodeName> Withdrawals::shown(const PodUid& uid) const {
    return cache_.call([&](const ClusterState& state) -> std::optional<NodeName> {
        const PendingPod* pod = state.pending(uid);
        if (pod == nullptr) pod = state.being_bound(uid);
        if (pod == nullptr || !pod->reserved_node.empty()) return std::nullopt;
        return pod->is_shown_ahead ? pod->nominated : NodeName();  // not one of another program
    });
}

void Withdrawals::send(const std::stop_token& stop) {
    const Time now = clock_.steady();
    for (auto at = due_.begin(); at != due_.end() && !stop.stop_requested();) {
        Withdrawal& due = at->second;
        const auto nominated = shown(at->first);
        const bool is_shown = nominated && *nominated == due.node;
        const bool is_over = due.is_sent || now >= due.until;
        if (!nominated || (!is_shown && (!nominated->empty() || is_over))) {
            at = due_.erase(at);
            continue;
        }
        if (is_shown && (!due.is_sent || now >= due.until)) {
            due.is_sent = true;
            due.until = now + kShown;
            writers_.run([this, uid = at->first, pod = due.pod, node = due.node] {
                if (!fence_.begin(Nominations::kTakes)) return;
                const auto removed = nominations_.withdraw(uid, pod, node);
                if (!removed && removed.error().code == Code::unavailable)
                    log_event(Event::api_error, {{"reason", removed.error().text}});
            });
        }
        ++at;
    }
}

}  // namespace tessera
