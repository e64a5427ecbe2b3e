#include "app/agent/inventory/node_config_label.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/log.hpp"
#include "domain/cluster/node_labels.hpp"

namespace tessera {

NodeConfigLabel::NodeConfigLabel(std::set<std::string> names, std::function<void()> changed)
    : names_(std::move(names)), changed_(std::move(changed)) {}

Result<std::string> NodeConfigLabel::read(const StringMap& labels) const {
    const auto label = labels.find(kAgentConfigLabel);
    if (label == labels.end() || label->second.empty()) return std::string();
    if (names_.contains(label->second)) return label->second;
    return fail(Code::unavailable,
                fmt::format("the Node's label {}: correct the label, or add the configuration to "
                            "the chart's agent.nodeConfigs",
                            unknown_config_text(label->second, names_)));
}

// Logs a fault once.
void NodeConfigLabel::report(const Result<std::string>& name) {
    {
        const MutexLock lock(mutex_);
        const std::string fault = name ? "" : name.error().text;
        if (std::exchange(fault_, fault) == fault || fault.empty()) return;
    }
    log_event(Event::node_config_unknown, {{"reason", name.error().text}});
}

std::string NodeConfigLabel::wait(KubeApi& kube, const NodeName& node, Clock& clock,
                                  const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPeriod{5'000};
    std::string last_error;
    while (!stop.stop_requested()) {
        const auto shown = kube.node_shows(node, {});
        if (!shown && names_.empty()) return {};
        if (shown) {
            const auto name = read(shown->labels);
            report(name);
            if (name) {
                const MutexLock lock(mutex_);
                return used_ = *name;
            }
        } else if (std::exchange(last_error, shown.error().text) != shown.error().text) {
            log_event(Event::api_error, {{"reason", shown.error().text}});
        }
        clock.sleep_for(kPeriod, stop);
    }
    return {};
}

bool NodeConfigLabel::take(const StringMap& labels) {
    const auto name = read(labels);
    report(name);
    {
        const MutexLock lock(mutex_);
        if (is_changed_) return false;
        if (!name || *name == used_) return true;
        is_changed_ = true;
    }
    log_event(Event::node_config_changed, {{"label", *name}});
    changed_();
    return false;
}

Result<> NodeConfigLabel::ready() const {
    const MutexLock lock(mutex_);
    if (fault_.empty()) return {};
    return fail(Code::unavailable, fault_);
}

}  // namespace tessera
