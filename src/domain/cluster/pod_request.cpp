#include "domain/cluster/pod_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "domain/placement/engine/policy.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> refuse_mps(const std::string& container, std::string_view why) {
    return fail(Code::invalid_argument,
                fmt::format("annotation {}: mps: container {} {}", kIsolation, container, why));
}

// MPS has one number for a container's compute, which is both what it has and the most that it
// gets, and one control daemon for each GPU.
Result<> check_mps(const ContainerRequest& container) {
    const GpuRequest& gpu = container.gpu;
    if (gpu.memory.kind == MemoryRequest::Kind::whole_gpu) {
        return refuse_mps(container.container,
                          "asks for a whole GPU, which no other pod uses; remove the annotation");
    }
    if (gpu.gpus > 1) {
        return refuse_mps(container.container,
                          fmt::format("asks for shares of {} GPUs, and MPS gives it one; ask for "
                                      "one, or write guard",
                                      gpu.gpus));
    }
    if (gpu.cores.value == 0) {
        return refuse_mps(container.container,
                          "asks for no compute; say in its limits how many percent of a GPU's "
                          "multiprocessors it gets (tessera.dev/gpu-cores)");
    }
    if (gpu.cores_limit == kNoCoresLimit || gpu.cores_limit == gpu.cores) return {};
    return refuse_mps(container.container,
                      fmt::format("has a compute limit of {} percent, and with MPS it gets the {} "
                                  "percent that it asks for; remove the limit",
                                  gpu.cores_limit.value, gpu.cores.value));
}

}  // namespace

Result<PodRequest> request_of(const PodInfo& pod) {
    TRY(ContainerRequests containers, pod.request);
    PodRequest request{pod.uid, pod.name, {}, pod.priority, pod.host, {}, {}, pod.created};
    if (containers.empty()) return request;
    if (!pod.policy.empty()) {
        const auto found = find_policy_option(pod.policy);
        if (!found) {
            return fail(Code::invalid_argument,
                        fmt::format("annotation {}: {}", kPlacementPolicy, found.error().text));
        }
        request.policy = (*found)->name;
    }
    TRY(const GpuRules rules, parse_gpu_rules(pod.gpu_rules, pod.name.ns));
    for (ContainerRequest& container : containers) {
        container.gpu.rules = rules;
        if (rules.uses_mps()) TRY_VOID(check_mps(container));
    }
    request.containers = std::move(containers);
    if (!pod.gang) return request;
    TRY(request.gang, *pod.gang);
    return request;
}

}  // namespace tessera
