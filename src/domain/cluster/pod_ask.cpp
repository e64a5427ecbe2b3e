#include "domain/cluster/pod_ask.hpp"

#include <fmt/format.h>

#include <utility>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

Result<PodAsk> ask_of(const PodFacts& pod) {
    TRY(PodRequest request, parse_pod_request(pod.containers));
    std::string_view policy;
    if (!request.empty() && !pod.policy.empty()) {
        const auto found = find_policy_option(pod.policy);
        if (!found) {
            return fail(Code::invalid_argument,
                        fmt::format("annotation {}: {}", kPlacementPolicy, found.error().text));
        }
        policy = (*found)->name;
    }
    TRY(const CardRules rules, parse_card_rules(pod.card_rules, pod.name.space));
    for (ContainerRequest& container : request)
        container.gpu.rules = rules;
    PodAsk ask{pod.uid,  pod.name, std::move(request), pod.priority,
               pod.host, {},       std::string(policy)};
    if (ask.request.empty() || !pod.gang) return ask;
    TRY(ask.gang, *pod.gang);
    return ask;
}

}  // namespace tessera
