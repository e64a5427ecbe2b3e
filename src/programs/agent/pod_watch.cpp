#include "programs/agent/pod_watch.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {

std::jthread start_pod_watch(NodePods& pods, NodeName node, ShareEnforcement* enforcement,
                             Metering* metering, const std::stop_token& stop) {
    if (enforcement == nullptr && metering == nullptr) return {};
    return std::jthread([&pods, node = std::move(node), enforcement, metering, stop] {
        const auto take = [&](const PodChanges& changes) {
            if (enforcement != nullptr) enforcement->take(changes);
            if (metering != nullptr) metering->take(changes);
        };
        const auto take_error = [&](const Error& error) {
            if (enforcement != nullptr) return enforcement->take_error(error);
            log_event(Event::api_error, {{"reason", error.text}});
        };
        pods.follow_pods_of(node, take, take_error, stop);
    });
}

}  // namespace tessera
