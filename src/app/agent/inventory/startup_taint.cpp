#include "app/agent/inventory/startup_taint.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kPeriod{1'000};
constexpr std::chrono::milliseconds kAfterError{5'000};
constexpr std::chrono::milliseconds kWithoutTaint{120'000};

bool offers_all(const StringMap& allocatable, const DeviceLists& lists) {
    return std::ranges::all_of(lists, [&](const auto& list) {
        if (std::ranges::none_of(list.second, &PluginDevice::healthy)) return true;
        const auto amount = allocatable.find(list.first);
        return amount != allocatable.end() && amount->second != "0";
    });
}

// True when the Node has no such taint.
Result<bool> try_once(NodeTaints& nodes, const StartupTaint& taint, const DeviceLists& lists) {
    TRY(const TaintedNode node, nodes.tainted_node(taint.node));
    if (std::ranges::find(node.taints, taint.key) == node.taints.end()) return true;
    if (!offers_all(node.allocatable, lists)) return false;
    TRY_VOID(nodes.remove_taints(taint.node, node, taint.key));
    log_event(Event::startup_taint_removed, {{"taint", taint.key}});
    return true;
}

}  // namespace

void remove_startup_taint(NodeTaints& nodes, const StartupTaint& taint,
                          const std::function<Result<>()>& ready,
                          const std::function<DeviceLists()>& lists, Clock& clock,
                          const std::stop_token& stop) {
    std::string last_error;
    while (!taint.key.empty() && !stop.stop_requested()) {
        auto pause = kPeriod;
        if (ready()) {
            const auto done = try_once(nodes, taint, lists());
            const std::string error = done ? "" : done.error().text;
            if (std::exchange(last_error, error) != error && !error.empty())
                log_event(Event::api_error, {{"reason", error}});
            pause = !done ? kAfterError : *done ? kWithoutTaint : kPeriod;
        }
        clock.sleep_for(pause, stop);
    }
}

}  // namespace tessera
