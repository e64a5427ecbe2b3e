#include "adapters/kube/kube_client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "adapters/kube/kube_watch.hpp"
#include "adapters/os/pause.hpp"
#include "wire/kube/container_setup_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/pod_group_json.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

// The API server gives up a Binding after this time (query parameter "timeout"). It starts one only
// for a client that still waits.
constexpr milliseconds kServersBind{2'000};
constexpr milliseconds kBind = KubeApi::kBindTakes - kServersBind;
static_assert(kBind <= KubeClient::kOneObject);
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/pods";
constexpr milliseconds kUnknownApi{60'000};

// What kube_watch.hpp needs to know of each kind of object.
struct NodeKind {
    using Changes = NodeChanges;
    const Dialects& dialects;
    [[nodiscard]] NodeInventory read(JsonValue json) const { return read_node(json, dialects); }
    static NodeName key(const NodeInventory& node) { return node.name; }
};
struct PodKind {
    using Changes = PodChanges;
    const AllocationSeal* seal;
    const Dialects& dialects;
    [[nodiscard]] PodInfo read(JsonValue json) const { return read_pod(json, seal, dialects); }
    static PodUid key(const PodInfo& pod) { return pod.uid; }
};

struct PodGroupKind {
    using Changes = PodGroupChanges;
    static PodGroup read(JsonValue json) { return read_pod_group(json); }
    static GangId key(const PodGroup& group) { return group.id; }
};

std::string pods_of(const NodeName& node) {
    return std::string(kPods) + "?fieldSelector=spec.nodeName%3D" + node.str();
}

}  // namespace

Result<JsonDocument> KubeClient::get(const std::string& path, milliseconds deadline,
                                     const std::stop_token& stop) {
    TRY(const std::string body, kube_call(http_, {.method = "GET", .path = path}, deadline, stop));
    return JsonDocument::parse(body);
}

Result<std::string> KubeClient::each_page(const std::string& path, const ReadItem& read,
                                          const std::stop_token& stop) {
    return each_item(page_fetcher(http_, stop), path, read);
}

void KubeClient::follow_nodes(const std::function<void(NodeChanges)>& sink,
                              const ErrorSink& on_error, std::stop_token stop) {
    follow_all(NodeKind{dialects_}, http_, kNodes, sink, on_error, stop);
}

void KubeClient::follow_pods(const std::function<void(PodChanges)>& sink, const ErrorSink& on_error,
                             std::stop_token stop) {
    follow_pods_at(kPods, sink, on_error, stop);
}

void KubeClient::follow_pods_of(const NodeName& node, const std::function<void(PodChanges)>& sink,
                                const ErrorSink& on_error, std::stop_token stop) {
    follow_pods_at(pods_of(node), sink, on_error, stop);
}

void KubeClient::follow_pods_at(const std::string& path,
                                const std::function<void(PodChanges)>& sink,
                                const ErrorSink& on_error, const std::stop_token& stop) {
    const auto list = [this, &path, &stop](PodChanges& changes) {
        changes.listed.emplace();
        return each_page(
            path,
            [&](JsonValue json) {
                PodInfo pod = read_pod(json, seal_, dialects_);
                changes.listed->insert(pod.uid);
                const bool takes_host = !pod.node.empty() && pod.host != HostRequest{};
                const bool ours = !pod.containers.empty() || pod.allocation || takes_host;
                if (ours) changes.upserted.push_back(std::move(pod));
            },
            stop);
    };
    follow_objects(PodKind{seal_, dialects_}, http_, path, list, sink, on_error, stop);
}

void KubeClient::follow_pod_groups(const std::function<void(PodGroupChanges)>& sink,
                                   const ErrorSink& on_error, std::stop_token stop) {
    while (!stop.stop_requested()) {
        for (const char* path : kPodGroupsPaths) {
            const auto served = get(with_query(path, "limit=1"), kPageDeadline, stop);
            if (served) follow_pod_groups_at(path, sink, on_error, stop);
            if (stop.stop_requested()) return;
            if (!served && served.error().code != Code::not_found) on_error(served.error());
        }
        pause_for(kUnknownApi, stop);
    }
}

// Until the API server no longer has this path, because its Kubernetes was upgraded.
void KubeClient::follow_pod_groups_at(const std::string& path,
                                      const std::function<void(PodGroupChanges)>& sink,
                                      const ErrorSink& on_error, const std::stop_token& stop) {
    std::stop_source ended;
    const std::stop_callback with_caller(stop, [&ended] { ended.request_stop(); });
    const auto heard = [&](const Error& error) {
        if (error.code == Code::not_found) {
            ended.request_stop();
        } else {
            on_error(error);
        }
    };
    follow_all(PodGroupKind{}, http_, path, sink, heard, ended.get_token());
}

Result<> KubeClient::bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const StringMap& annotations) {
    const auto done = kube_post(http_,
                                fmt::format("/api/v1/namespaces/{}/pods/{}/binding?timeout={}ms",
                                            pod.ns, pod.name, kServersBind.count()),
                                write_binding(uid, pod, node, annotations), kBind);
    if (!done) return fail(done.error());
    return {};
}

Result<PodInfo> KubeClient::get_pod(const PodName& pod) {
    TRY(const auto document, get(fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name),
                                 KubeClient::kOneObject));
    return read_pod(document.root(), seal_, dialects_);
}

Result<std::vector<NodeInventory>> KubeClient::list_nodes() {
    std::vector<NodeInventory> nodes;
    TRY_VOID(
        each_page(kNodes, [&](JsonValue json) { nodes.push_back(read_node(json, dialects_)); }));
    return nodes;
}

Result<std::vector<PodInfo>> KubeClient::list_pods(const NodeName& node) {
    std::vector<PodInfo> pods;
    TRY_VOID(each_page(node.empty() ? kPods : pods_of(node),
                       [&](JsonValue json) { pods.push_back(read_pod(json, seal_, dialects_)); }));
    return pods;
}

Result<std::vector<NodePod>> KubeClient::list_node_pods(const NodeName& node) {
    std::vector<NodePod> pods;
    TRY_VOID(each_page(pods_of(node), [&](JsonValue json) {
        pods.push_back({read_pod(json, seal_, dialects_), read_container_setups(json)});
    }));
    return pods;
}

Result<NodeShown> KubeClient::node_shows(const NodeName& node, const NodeWanted& wanted) {
    TRY(const auto document, get("/api/v1/nodes/" + node.str(), KubeClient::kOneObject));
    NodeShown out;
    out.report = document.root()["metadata"]["annotations"][key::kGpus].text_or("");
    out.runtime = document.root()["status"]["nodeInfo"]["containerRuntimeVersion"].text_or("");
    for (const auto& [key, value] : document.root()["metadata"]["labels"].members())
        out.labels.emplace(std::string(key), value.text_or(""));
    out.matches = shows_all(out.labels, wanted.labels);
    const JsonValue shown = document.root()["metadata"]["annotations"];
    for (const auto& [key, value] : wanted.annotations)
        out.matches &= shown[key].text_or("") == value;
    for (const auto& [resource, amount] : wanted.amounts) {
        const auto capacity =
            parse_whole_quantity(document.root()["status"]["capacity"][resource].text_or(""));
        out.matches &= capacity && std::to_string(*capacity) == amount;
    }
    return out;
}

Result<> KubeClient::set_node_metadata(const NodeName& node, const StringMap& annotations,
                                       const StringMap& labels) {
    return kube_merge_patch(http_, "/api/v1/nodes/" + node.str(),
                            write_metadata_patch(annotations, labels), KubeClient::kOneObject);
}

Result<> KubeClient::set_node_resources(const NodeName& node, const StringMap& amounts) {
    return kube_merge_patch(http_, "/api/v1/nodes/" + node.str() + "/status",
                            write_capacity_patch(amounts), KubeClient::kOneObject);
}

Result<TaintedNode> KubeClient::tainted_node(const NodeName& node) {
    TRY(const auto document, get("/api/v1/nodes/" + node.str(), KubeClient::kOneObject));
    TaintedNode out;
    for (const JsonValue taint : document.root()["spec"]["taints"].elements())
        out.taints.push_back(taint["key"].text_or(""));
    for (const auto& [resource, amount] : document.root()["status"]["allocatable"].members())
        out.allocatable.emplace(std::string(resource), amount.text_or(""));
    return out;
}

Result<> KubeClient::remove_taints(const NodeName& node, const TaintedNode& seen,
                                   const std::string& key) {
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = "/api/v1/nodes/" + node.str(),
                        .body = write_taint_removal(seen.taints, key),
                        .content_type = "application/json-patch+json"},
                       KubeClient::kOneObject));
    return {};
}

}  // namespace tessera
