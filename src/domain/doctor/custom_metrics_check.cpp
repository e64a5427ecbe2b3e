#include "domain/doctor/custom_metrics_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::doctor {

Judgement custom_metrics(const Facts& facts) {
    if (!facts.controller) return unread(facts.controller.error());
    if (!facts.controller->custom_metrics)
        return {Status::ok, "off (controller.customMetrics of the Helm chart)", ""};
    if (!facts.metrics_apis) return unread(facts.metrics_apis.error());
    const std::string ours = facts.ns + "/tessera-controller";
    const auto other = std::ranges::find_if(
        *facts.metrics_apis, [&](const MetricsApi& api) { return api.service != ours; });
    if (other != facts.metrics_apis->end()) {
        return {Status::warning,
                fmt::format("APIService {} belongs to {}, and is left alone", other->name,
                            other->service.empty() ? "the API server" : other->service),
                "give that adapter rules for Tessera's metrics (docs/install/serving-metrics.md), "
                "and set controller.customMetrics=false; or delete the APIService"};
    }
    if (facts.metrics_apis->empty()) {
        return {Status::failed, "no controller has registered the API",
                fmt::format("kubectl -n {} logs -l app.kubernetes.io/component=controller (event "
                            "custom_metrics_error)",
                            facts.ns)};
    }
    const MetricsApi& api = facts.metrics_apis->front();
    if (!api.is_available) {
        return {
            Status::failed, fmt::format("APIService {} is not available: {}", api.name, api.reason),
            "the API server must reach the port of the controllers' Service, as for the webhook"};
    }
    const bool no_agent_listens =
        facts.asked && facts.asked->answered == 0 && facts.asked->silent.empty();
    if (no_agent_listens) {
        return {
            Status::warning,
            fmt::format("APIService {} is available, but no agent has a port for the use of GPUs",
                        api.name),
            "set agent.listen=true in the Helm chart"};
    }
    return {Status::ok, fmt::format("APIService {} is available", api.name), ""};
}

}  // namespace tessera::doctor
