#include "app/agent/driver_wait.hpp"

#include <condition_variable>
#include <mutex>

#include "base/log.hpp"
#include "domain/health/driver_release.hpp"
#include "wire/keys.hpp"

namespace tessera {

void wait_for_driver(KubeApi& kube, const NodeName& node, const std::stop_token& stop,
                     std::chrono::milliseconds period) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    bool is_told = false;
    while (!stop.stop_requested()) {
        const auto shown = kube.node_shows(node, {}, {});
        const std::string label = shown ? driver_release_label(shown->labels) : "";
        if (label.empty()) return;
        if (!is_told) {
            log_event(Event::driver_released, {{"label", label}});
            // Who waits for it may unload the driver: nobody here has opened it.
            is_told =
                kube.annotate_node(node, {{std::string(key::kDriver), "released"}}).has_value();
        }
        wake.wait_for(lock, stop, period, [] { return false; });
    }
}

}  // namespace tessera
