#include "domain/cluster/pod_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

Result<PodRequest> request_of(const PodInfo& pod) {
    TRY(ContainerRequests containers, pod.request);
    std::string_view policy;
    if (!containers.empty() && !pod.policy.empty()) {
        const auto found = find_policy_option(pod.policy);
        if (!found) {
            return fail(Code::invalid_argument,
                        fmt::format("annotation {}: {}", kPlacementPolicy, found.error().text));
        }
        policy = (*found)->name;
    }
    TRY(const GpuRules rules, parse_gpu_rules(pod.gpu_rules, pod.name.ns));
    for (ContainerRequest& container : containers)
        container.gpu.rules = rules;
    PodRequest request{pod.uid,  pod.name, std::move(containers), pod.priority,
                       pod.host, {},       std::string(policy),   pod.created};
    if (request.containers.empty() || !pod.gang) return request;
    TRY(request.gang, *pod.gang);
    return request;
}

}  // namespace tessera
