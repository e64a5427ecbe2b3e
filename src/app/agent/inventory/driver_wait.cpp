#include "app/agent/inventory/driver_wait.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/log.hpp"
#include "domain/health/driver_release.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPeriod{5'000};  // between two reads of the Node

// Shows the driver as released, because this agent has not opened it. An agent that was killed may
// have left GPUs on the Node that still look usable.
bool show_released(KubeApi& kube, const NodeName& node, const NodeShown& shown,
                   const std::string& label) {
    StringMap annotations = {{std::string(key::kDriver), "released"}};
    if (auto gpus = read_node_gpus(shown.report)) {
        for (Gpu& gpu : gpus->gpus) {
            if (!gpu.usable()) continue;
            gpu.condition = GpuCondition::not_shareable;
            gpu.reason = fmt::format(
                "the agent does not open the driver, as the node's label {} asks", label);
        }
        annotations.emplace(key::kGpus, write_node_gpus(*gpus));
    }
    return kube.set_node_metadata(node, annotations, {}).has_value();
}

}  // namespace

void wait_for_driver(KubeApi& kube, const NodeName& node, Clock& clock,
                     const std::stop_token& stop) {
    std::string seen;  // the last label that was read
    bool is_shown = false;
    while (!stop.stop_requested()) {
        const auto shown = kube.node_shows(node, {});
        const std::string label = shown ? driver_release_label(shown->labels) : seen;
        if (label.empty()) return;
        if (seen.empty()) log_event(Event::driver_released, {{"label", label}});
        seen = label;
        if (shown && !is_shown) is_shown = show_released(kube, node, *shown, label);
        clock.sleep_for(kPeriod, stop);
    }
}

}  // namespace tessera
