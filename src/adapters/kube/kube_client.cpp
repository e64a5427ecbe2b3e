#include "adapters/kube/kube_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "adapters/kube/kube_call.hpp"
#include "adapters/os/pause.hpp"
#include "wire/container_setup_json.hpp"
#include "wire/keys.hpp"
#include "wire/kube_objects.hpp"
#include "wire/pod_group_json.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of a page of a list, megabytes of it.
constexpr milliseconds kPage{30'000};
// The server ends a watch after this time; bookmarks arrive each minute, so silence means a dead
// line.
constexpr seconds kWatchTimeout{290};
constexpr seconds kWatchIdle{90};
constexpr milliseconds kShortestPause{100};
constexpr milliseconds kLongestPause{10'000};
constexpr int kPageSize = 500;
// The API server gives a Binding up when it has had it for so long (its query parameter "timeout"),
// and it has it only from a client that still waits.
constexpr milliseconds kServersBind{2'000};
constexpr milliseconds kBind = KubeApi::kBindTakes - kServersBind;
static_assert(kBind <= KubeClient::kOneObject);
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/pods";
constexpr milliseconds kUnknownApi{60'000};

// What `follow` needs to know of one kind of object.
struct NodeKind {
    using Changes = NodeChanges;
    static NodeInventory read(JsonValue json) { return read_node(json); }
    static NodeName key(const NodeInventory& node) { return node.name; }
};
struct PodKind {
    using Changes = PodChanges;
    const AllocationSeal* seal;
    [[nodiscard]] PodFacts read(JsonValue json) const { return read_pod(json, seal); }
    static PodUid key(const PodFacts& pod) { return pod.uid; }
};

struct PodGroupKind {
    using Changes = PodGroupChanges;
    static PodGroup read(JsonValue json) { return read_pod_group(json); }
    static GangId key(const PodGroup& group) { return group.id; }
};

// Cuts the stream of a watch into events and collects them until they are handed over.
template <class Kind>
class EventReader {
  public:
    EventReader(const Kind& kind, std::string& resource_version)
        : kind_(kind), resource_version_(resource_version) {}

    // One piece of the stream. An error ends the watch.
    Result<> feed(std::string_view data, typename Kind::Changes& changes) {
        rest_ += data;
        std::size_t start = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos;
             start = end + 1) {
            TRY_VOID(line(std::string_view(rest_).substr(start, end - start), changes));
        }
        rest_.erase(0, start);
        return {};
    }

    // Whole ones so far, bookmarks too.
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
                changes.present.push_back(kind_.read(event.object));
                break;
            case WatchEvent::Kind::deleted: {
                // One batch may hold "modified" and then "deleted" of one object: the end wins.
                const auto key = Kind::key(kind_.read(event.object));
                std::erase_if(changes.present, [&](const auto& o) { return Kind::key(o) == key; });
                changes.removed.push_back(key);
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

std::string with_query(const std::string& path, std::string_view query) {
    return path + (path.find('?') == std::string::npos ? "?" : "&") + std::string(query);
}

// Watches from `resource_version` on until the line ends; moves it along.
template <class Kind, class Sink>
Result<> watch(const Kind& kind, HttpClient& http, const std::string& path,
               std::string& resource_version, const Sink& sink, const std::stop_token& stop) {
    EventReader<Kind> reader(kind, resource_version);
    Result<> outcome;
    const auto on_data = [&](std::string_view data) {
        typename Kind::Changes changes;
        const int before = reader.events();
        outcome = reader.feed(data, changes);
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

KubeClient::KubeClient(HttpEndpoint endpoint, const AllocationSeal* seal)
    : http_(std::move(endpoint)), seal_(seal) {}
KubeClient::~KubeClient() = default;

Result<JsonDocument> KubeClient::get(const std::string& path, milliseconds deadline,
                                     const std::stop_token& stop) {
    TRY(const std::string body, kube_call(http_, {.method = "GET", .path = path}, deadline, stop));
    return JsonDocument::parse(body);
}

// Calls `read` for each object of a list; returns the list's resource version.
template <class Read>
Result<std::string> KubeClient::each_page(const std::string& path, const Read& read,
                                          const std::stop_token& stop) {
    std::string next;
    while (true) {
        std::string query = fmt::format("limit={}", kPageSize);
        if (!next.empty()) query += "&continue=" + next;
        TRY(const auto document, get(with_query(path, query), kPage, stop));
        TRY(const ListPage page, read_list(document));
        for (const JsonValue item : page.items)
            read(item);
        next = page.next;
        if (next.empty()) return page.resource_version;
    }
}

namespace {

// Lists and watches `path` for ever. `list` fills changes (with `all`) and returns the position.
template <class Kind, class List, class Sink>
void follow(const Kind& kind, HttpClient& http, const std::string& path, const List& list,
            const Sink& sink, const KubeApi::Trouble& trouble, const std::stop_token& stop) {
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
            // The server ended the watch, as it does every few minutes; one that does so at once
            // must not be asked in a tight loop.
            pause = kShortestPause;
            pause_for(pause, stop);
            continue;
        }
        if (stop.stop_requested()) return;
        trouble(outcome.error());
        if (outcome.error().code == Code::expired) resource_version.clear();
        // Up to half more, so that a thousand agents do not come back in step.
        thread_local std::minstd_rand random(std::random_device{}());
        pause_for(pause + pause * static_cast<int>(random() % 50) / 100, stop);
        pause = std::min(pause * 2, kLongestPause);
    }
}

}  // namespace

// Every object of the list is of interest.
template <class Kind>
void KubeClient::follow_all(const Kind& kind, const std::string& path,
                            const std::function<void(typename Kind::Changes)>& sink,
                            const Trouble& trouble, const std::stop_token& stop) {
    const auto list = [&](typename Kind::Changes& changes) {
        changes.all.emplace();
        return each_page(
            path,
            [&](JsonValue json) {
                changes.present.push_back(kind.read(json));
                changes.all->insert(Kind::key(changes.present.back()));
            },
            stop);
    };
    follow(kind, http_, path, list, sink, trouble, stop);
}

void KubeClient::follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                              std::stop_token stop) {
    follow_all(NodeKind{}, kNodes, sink, trouble, stop);
}

void KubeClient::follow_pods(const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                             std::stop_token stop) {
    follow_pods_at(kPods, sink, trouble, stop);
}

void KubeClient::follow_pods_of(const NodeName& node, const std::function<void(PodChanges)>& sink,
                                const Trouble& trouble, std::stop_token stop) {
    follow_pods_at(pods_of(node), sink, trouble, stop);
}

void KubeClient::follow_pods_at(const std::string& path,
                                const std::function<void(PodChanges)>& sink, const Trouble& trouble,
                                const std::stop_token& stop) {
    const auto list = [this, &path, &stop](PodChanges& changes) {
        changes.all.emplace();
        return each_page(
            path,
            [&](JsonValue json) {
                PodFacts pod = read_pod(json, seal_);
                changes.all->insert(pod.uid);
                const bool takes_host = !pod.node.empty() && pod.host != HostAsk{};
                const bool ours = !pod.containers.empty() || pod.allocation || takes_host;
                if (ours) changes.present.push_back(std::move(pod));
            },
            stop);
    };
    follow(PodKind{seal_}, http_, path, list, sink, trouble, stop);
}

void KubeClient::follow_pod_groups(const std::function<void(PodGroupChanges)>& sink,
                                   const Trouble& trouble, std::stop_token stop) {
    while (!stop.stop_requested()) {
        const auto served = get(with_query(kPodGroupsPath, "limit=1"), kPage, stop);
        if (served) break;
        if (served.error().code != Code::not_found && !stop.stop_requested())
            trouble(served.error());
        pause_for(kUnknownApi, stop);
    }
    follow_all(PodGroupKind{}, kPodGroupsPath, sink, trouble, stop);
}

Result<> KubeClient::bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                          const StringMap& annotations) {
    const auto done =
        kube_call(http_,
                  {.method = "POST",
                   .path = fmt::format("/api/v1/namespaces/{}/pods/{}/binding?timeout={}ms",
                                       pod.space, pod.name, kServersBind.count()),
                   .body = write_binding(uid, pod, node, annotations),
                   .content_type = "application/json"},
                  kBind);
    if (!done) return fail(done.error());
    return {};
}

Result<PodFacts> KubeClient::get_pod(const PodName& pod) {
    TRY(const auto document, get(fmt::format("/api/v1/namespaces/{}/pods/{}", pod.space, pod.name),
                                 KubeClient::kOneObject));
    return read_pod(document.root(), seal_);
}

Result<std::vector<NodeInventory>> KubeClient::list_nodes() {
    std::vector<NodeInventory> nodes;
    TRY_VOID(each_page(kNodes, [&](JsonValue json) { nodes.push_back(read_node(json)); }));
    return nodes;
}

Result<std::vector<PodFacts>> KubeClient::list_pods(const NodeName& node) {
    std::vector<PodFacts> pods;
    TRY_VOID(each_page(node.empty() ? kPods : pods_of(node),
                       [&](JsonValue json) { pods.push_back(read_pod(json, seal_)); }));
    return pods;
}

Result<std::vector<NodePod>> KubeClient::list_node_pods(const NodeName& node) {
    std::vector<NodePod> pods;
    TRY_VOID(each_page(pods_of(node), [&](JsonValue json) {
        pods.push_back({read_pod(json, seal_), read_container_setups(json)});
    }));
    return pods;
}

Result<NodeShown> KubeClient::node_shows(const NodeName& node, const StringMap& annotations,
                                         const StringMap& amounts) {
    TRY(const auto document, get("/api/v1/nodes/" + node.str(), KubeClient::kOneObject));
    NodeShown out{.matches = true};
    out.report = document.root()["metadata"]["annotations"][key::kGpus].text_or("");
    for (const auto& [key, value] : document.root()["metadata"]["labels"].members())
        out.labels.emplace(std::string(key), value.text_or(""));
    const JsonValue shown = document.root()["metadata"]["annotations"];
    for (const auto& [key, value] : annotations)
        out.matches &= shown[key].text() == value;
    for (const auto& [resource, amount] : amounts) {
        const auto capacity =
            parse_whole_quantity(document.root()["status"]["capacity"][resource].text_or(""));
        out.matches &= capacity && std::to_string(*capacity) == amount;
    }
    return out;
}

Result<> KubeClient::annotate_node(const NodeName& node, const StringMap& annotations) {
    const auto done = kube_call(http_,
                                {.method = "PATCH",
                                 .path = "/api/v1/nodes/" + node.str(),
                                 .body = write_annotations_patch(annotations),
                                 .content_type = "application/merge-patch+json"},
                                KubeClient::kOneObject);
    if (!done) return fail(done.error());
    return {};
}

Result<> KubeClient::set_node_resources(const NodeName& node, const StringMap& amounts) {
    const auto done = kube_call(http_,
                                {.method = "PATCH",
                                 .path = "/api/v1/nodes/" + node.str() + "/status",
                                 .body = write_capacity_patch(amounts),
                                 .content_type = "application/merge-patch+json"},
                                KubeClient::kOneObject);
    if (!done) return fail(done.error());
    return {};
}

}  // namespace tessera
