#include "adapters/workload/kube_traffic_splits.hpp"

#include <fmt/format.h>

#include <thread>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/traffic_split_json.hpp"

namespace tessera {
namespace {

using workload::GatewayName;
using workload::ServingStatus;
using workload::SharedService;
using workload::SharedServiceState;
using workload::TrafficRoute;

std::string text_of(const ObjectKind& kind, const std::string& name) {
    return fmt::format("{}/{}", kind.right, name);
}

// The object of this name; nothing if there is none. `read` returns nothing for other programs'.
template <class State>
Result<std::optional<State>> read_split(HttpClient& http, const ObjectKind& kind,
                                        const std::string& name,
                                        std::span<const ServingStatus> jobs,
                                        std::optional<State> (*read)(JsonValue)) {
    const std::string ns = jobs.front().ns;
    const auto deadline = std::chrono::steady_clock::now() + kGone;
    while (true) {
        TRY(const auto object, read_object(http, kind, ns, name));
        if (!object) return std::optional<State>();
        std::optional<State> state = read(object->root());
        if (state && is_owned_by(state->owners, jobs)) return state;
        if (!state || std::chrono::steady_clock::now() > deadline) {
            return fail(Code::conflict,
                        fmt::format("{} exists already in namespace {}, and does not belong to the "
                                    "serving jobs {}; delete it, or serve them by another --name",
                                    text_of(kind, name), ns, name));
        }
        std::this_thread::sleep_for(kGonePoll);
    }
}

Result<> create(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                const std::string& name, std::string object) {
    const auto made = create_object(http, kind, ns, std::move(object));
    if (made) return {};
    if (made.error().code != Code::conflict) return fail(made.error());
    return fail(Code::conflict,
                fmt::format("{} was created by another command at the same time; try again",
                            text_of(kind, name)));
}

Result<std::vector<GatewayName>> list_gateways(HttpClient& http, const std::string& ns) {
    std::vector<GatewayName> out;
    TRY_VOID(each_item(http, path_of(kGateways, ns), "list gateways.gateway.networking.k8s.io",
                       [&](JsonValue json) { out.push_back(workload::read_gateway(json)); }));
    return out;
}

}  // namespace

Result<std::vector<GatewayName>> KubeTrafficSplits::gateways(const std::string& ns) {
    auto all = list_gateways(http_, "");
    if (all || all.error().code != Code::permission_denied) return all;
    return list_gateways(http_, ns);
}

Result<std::optional<TrafficRoute>> KubeTrafficSplits::route(const std::string& name,
                                                             std::span<const ServingStatus> jobs) {
    return read_split(http_, kHttpRoutes, name, jobs, workload::read_route);
}

Result<> KubeTrafficSplits::write(const TrafficRoute& wanted,
                                  const std::optional<TrafficRoute>& before) {
    if (!before) {
        return create(http_, kHttpRoutes, wanted.ns, wanted.name, workload::write_route(wanted));
    }
    return json_patch_object(http_, kHttpRoutes, wanted.ns, wanted.name,
                             workload::write_route_change(*before, wanted),
                             text_of(kHttpRoutes, wanted.name));
}

Result<std::optional<SharedServiceState>> KubeTrafficSplits::service(
    const std::string& name, std::span<const ServingStatus> jobs) {
    return read_split(http_, kServices, name, jobs, workload::read_shared_service);
}

Result<> KubeTrafficSplits::write(const SharedService& wanted,
                                  const std::optional<SharedServiceState>& before) {
    if (!before) {
        return create(http_, kServices, wanted.ns, wanted.name,
                      workload::write_shared_service(wanted));
    }
    return json_patch_object(http_, kServices, wanted.ns, wanted.name,
                             workload::write_shared_service_change(*before, wanted),
                             text_of(kServices, wanted.name));
}

Result<> KubeTrafficSplits::remove(const TrafficRoute& route) {
    return delete_object(http_, kHttpRoutes, route.ns, route.name, route.uid);
}

Result<> KubeTrafficSplits::remove(const SharedServiceState& service) {
    return delete_object(http_, kServices, service.ns, service.name, service.uid);
}

Result<> KubeTrafficSplits::set_part(const ServingStatus& job, bool in_split,
                                     std::optional<int> replicas) {
    TRY_VOID(json_patch_object(http_, kDeployments, job.ns, job.object,
                               workload::write_part(job.uid, in_split, replicas),
                               "the serving job " + job.id.name));
    for (const workload::WorkloadPod& pod : job.pods) {
        if (pod.in_split == in_split) continue;
        const auto done =
            json_patch_object(http_, kPods, job.ns, pod.name,
                              workload::write_pod_part(pod.uid.str(), in_split), "pod " + pod.name);
        // The rolling update replaces the pod, whether it can be changed now or not.
        const bool is_harmless = done || done.error().code == Code::not_found ||
                                 done.error().code == Code::conflict ||
                                 done.error().code == Code::permission_denied;
        if (!is_harmless) return done;
    }
    return {};
}

}  // namespace tessera
