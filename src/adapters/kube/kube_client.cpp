#include "adapters/kube/kube_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "adapters/os/pause.hpp"
#include "wire/kube/container_setup_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/pod_group_json.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The server ends a watch after this time. Bookmarks arrive each minute, so silence means that the
// connection is dead.
constexpr seconds kWatchTimeout{290};
constexpr seconds kWatchIdle{90};
constexpr milliseconds kShortestPause{100};
constexpr milliseconds kLongestPause{10'000};
// The API server gives up a Binding after this time (query parameter "timeout"). It starts one only
// for a client that still waits.
constexpr milliseconds kServersBind{2'000};
constexpr milliseconds kBind = KubeApi::kBindTakes - kServersBind;
static_assert(kBind <= KubeClient::kOneObject);
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/pods";
constexpr milliseconds kUnknownApi{60'000};

// What `follow` needs to know of one kind of object.
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

// Splits the stream of a watch into events and collects them for the sink.
template <class Kind>
class EventReader {
  public:
    EventReader(const Kind& kind, std::string& resource_version)
        : kind_(kind), resource_version_(resource_version) {}

    // Processes one piece of the stream. An error ends the watch.
    Result<> append(std::string_view data, typename Kind::Changes& changes) {
        rest_ += data;
        std::size_t start = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos;
             start = end + 1) {
            TRY_VOID(line(std::string_view(rest_).substr(start, end - start), changes));
        }
        rest_.erase(0, start);
        return {};
    }

    // The number of complete events so far, bookmarks included.
    [[nodiscard]] int events() const { return events_; }

  private:
    Result<> line(std::string_view text, typename Kind::Changes& changes) {
        if (text.empty()) return {};
        ++events_;
        TRY(const auto document, JsonDocument::parse(text));
        TRY(const auto event, read_watch_event(document));
        switch (event.kind) {
            case WatchEvent::Kind::added:
            case WatchEvent::Kind::modified:
                changes.upserted.push_back(kind_.read(event.object));
                break;
            case WatchEvent::Kind::deleted: {
                // One batch may have "modified" and then "deleted" for the same object: the last
                // one counts.
                const auto key = Kind::key(kind_.read(event.object));
                std::erase_if(changes.upserted, [&](const auto& o) { return Kind::key(o) == key; });
                changes.deleted.push_back(key);
                break;
            }
            case WatchEvent::Kind::bookmark:
                break;
            case WatchEvent::Kind::error:
                return fail(event.error);
        }
        if (!event.resource_version.empty()) resource_version_ = event.resource_version;
        return {};
    }

    const Kind& kind_;
    int events_ = 0;
    std::string rest_;
    std::string& resource_version_;
};

std::string pods_of(const NodeName& node) {
    return std::string(kPods) + "?fieldSelector=spec.nodeName%3D" + node.str();
}

// Watches from `resource_version` on until the connection ends, and updates it.
template <class Kind, class Sink>
Result<> watch(const Kind& kind, HttpClient& http, const std::string& path,
               std::string& resource_version, const Sink& sink, const std::stop_token& stop) {
    EventReader<Kind> reader(kind, resource_version);
    Result<> outcome;
    const auto on_data = [&](std::string_view data) {
        typename Kind::Changes changes;
        const int before = reader.events();
        outcome = reader.append(data, changes);
        if (reader.events() > before) sink(std::move(changes));
        return outcome.has_value();
    };
    const std::string query =
        fmt::format("watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                    kWatchTimeout.count(), resource_version);
    TRY(const HttpResponse end, http.stream(with_query(path, query), on_data, kWatchIdle, stop));
    if (end.status != 200 && end.status != 0) return fail(kube_error(end, path));
    return outcome;
}

}  // namespace

Result<JsonDocument> KubeClient::get(const std::string& path, milliseconds deadline,
                                     const std::stop_token& stop) {
    TRY(const std::string body, kube_call(http_, {.method = "GET", .path = path}, deadline, stop));
    return JsonDocument::parse(body);
}

Result<std::string> KubeClient::each_page(const std::string& path, const ReadItem& read,
                                          const std::stop_token& stop) {
    return each_item([&](const std::string& page) { return get(page, kPageDeadline, stop); }, path,
                     read);
}

namespace {

// Lists and watches `path` without end. `list` fills changes (with `listed`) and returns the
// position.
template <class Kind, class List, class Sink>
void follow(const Kind& kind, HttpClient& http, const std::string& path, const List& list,
            const Sink& sink, const KubeApi::ErrorSink& on_error, const std::stop_token& stop) {
    milliseconds pause = kShortestPause;
    std::string resource_version;
    while (!stop.stop_requested()) {
        Result<> outcome;
        if (resource_version.empty()) {
            typename Kind::Changes changes;
            auto listed = list(changes);
            if (listed) {
                resource_version = *listed;
                sink(std::move(changes));
            } else {
                outcome = fail(listed.error());
            }
        }
        if (outcome) outcome = watch(kind, http, path, resource_version, sink, stop);
        if (outcome) {
            // The server ends a watch every few minutes. If it does so at once, this pause prevents
            // a tight loop.
            pause = kShortestPause;
            pause_for(pause, stop);
            continue;
        }
        if (stop.stop_requested()) return;
        on_error(outcome.error());
        if (outcome.error().code == Code::expired) resource_version.clear();
        // Adds up to half, so that a thousand agents do not reconnect at the same moment.
        thread_local std::minstd_rand random(std::random_device{}());
        pause_for(pause + pause * static_cast<int>(random() % 50) / 100, stop);
        pause = std::min(pause * 2, kLongestPause);
    }
}

}  // namespace

// Uses every object of the list.
template <class Kind>
void KubeClient::follow_all(const Kind& kind, const std::string& path,
                            const std::function<void(typename Kind::Changes)>& sink,
                            const ErrorSink& on_error, const std::stop_token& stop) {
    const auto list = [&](typename Kind::Changes& changes) {
        changes.listed.emplace();
        return each_page(
            path,
            [&](JsonValue json) {
                changes.upserted.push_back(kind.read(json));
                changes.listed->insert(Kind::key(changes.upserted.back()));
            },
            stop);
    };
    follow(kind, http_, path, list, sink, on_error, stop);
}

void KubeClient::follow_nodes(const std::function<void(NodeChanges)>& sink,
                              const ErrorSink& on_error, std::stop_token stop) {
    follow_all(NodeKind{dialects_}, kNodes, sink, on_error, stop);
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
    follow(PodKind{seal_, dialects_}, http_, path, list, sink, on_error, stop);
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
    follow_all(PodGroupKind{}, path, sink, heard, ended.get_token());
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
