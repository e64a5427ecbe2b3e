#include "domain/cluster/pod_ask.hpp"

#include <fmt/format.h>

#include <utility>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

Result<PodAsk> ask_of(const PodFacts& pod) {
    TRY(PodRequest request, parse_pod_request(pod.containers));
    if (!request.empty() && !pod.policy.empty()) {
        const auto policy = find_policy_option(pod.policy);
        if (!policy) {
            return fail(Code::invalid_argument,
                        fmt::format("annotation {}: {}", kPlacementPolicy, policy.error().text));
        }
    }
    TRY(const CardRules rules, parse_card_rules(pod.card_rules, pod.name.space));
    for (ContainerRequest& container : request)
        container.gpu.rules = rules;
    PodAsk ask{pod.uid, pod.name, std::move(request), pod.priority, pod.host, {}, pod.policy};
    if (ask.request.empty() || !pod.gang) return ask;
    TRY(ask.gang, *pod.gang);
    return ask;
}

}  // namespace tessera
