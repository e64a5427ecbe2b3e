#include "adapters/kube/kube_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/pod_group_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};

bool leaves_size_to_a_group(const PodInfo& pod) {
    return pod.gang && *pod.gang && (*pod.gang)->size == 0;
}

// Empty if the API server has no PodGroups, or if they may not be read. Code that needs a missing
// group reports that.
std::vector<PodGroup> read_groups(HttpClient& http) {
    for (const char* path : kPodGroupsPaths) {
        std::vector<PodGroup> out;
        const auto read = each_item(http, path, "list PodGroups",
                                    [&](JsonValue json) { out.push_back(read_pod_group(json)); });
        if (read) return out;
    }
    return {};
}

}  // namespace

Result<defrag::ClusterObjects> read_cluster(HttpClient& http) {
    defrag::ClusterObjects out;
    const auto add_node = [&](JsonValue json) {
        out.nodes.push_back(read_node(json));
        out.traits.push_back(*out.nodes.back().traits);
    };
    const auto add_pod = [&](JsonValue json) {
        PodInfo pod = read_pod(json);
        auto scheduling = read_pod_scheduling(json);
        if (asks_for_gpus(pod) || !scheduling.foreign_requests.empty())
            out.scheduling.emplace(pod.uid, std::move(scheduling));
        if (!asks_for_gpus(pod)) {
            if (!pod.finished) out.others.push_back(std::move(pod));
            return;
        }
        out.pods.push_back(std::move(pod));
        out.states.push_back(read_pod_state(json));
    };
    TRY_VOID(each_node_and_pod(http, add_node, add_pod));
    if (std::ranges::any_of(out.pods, leaves_size_to_a_group)) out.pod_groups = read_groups(http);
    return out;
}

std::optional<ControllerFlags> read_controller(HttpClient& http, const std::string& ns) {
    const auto body = kube_call(
        http,
        {.method = "GET",
         .path = fmt::format("/apis/apps/v1/namespaces/{}/deployments/tessera-controller", ns)},
        kDeadline);
    if (!body) return std::nullopt;
    const auto document = JsonDocument::parse(*body);
    if (!document) return std::nullopt;
    return read_controller_flags(document->root());
}

}  // namespace tessera
