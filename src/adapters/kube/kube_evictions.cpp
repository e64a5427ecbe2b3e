#include "adapters/kube/kube_evictions.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "domain/events/reader.hpp"
#include "wire/eviction_json.hpp"

namespace tessera {
namespace {

// As long as the API server may work on it, as for a Binding (kube_client.cpp). It tries an
// eviction that meets another write of the pod again for longer; one that is late ends a pod, and
// gives no card to two.
constexpr std::chrono::milliseconds kServers{2'000};
constexpr std::chrono::milliseconds kDeadline = Evictions::kTakes - kServers;

std::string path_of(const PodName& pod, std::string_view part) {
    return fmt::format("/api/v1/namespaces/{}/pods/{}/{}?timeout={}ms", pod.space, pod.name, part,
                       kServers.count());
}

}  // namespace

KubeEvictions::KubeEvictions(HttpEndpoint endpoint) : http_(std::move(endpoint)) {}

Result<bool> KubeEvictions::post_eviction(const PodUid& uid, const PodName& pod, bool only_ask) {
    const std::string path = path_of(pod, "eviction");
    TRY(const HttpResponse response, http_.send({.method = "POST",
                                                 .path = path,
                                                 .body = write_eviction(uid, pod, only_ask),
                                                 .content_type = "application/json"},
                                                kDeadline));
    if (response.status >= 200 && response.status < 300) return true;
    Error error = kube_error(response, path);
    // Admission says 403, or what status a webhook likes.
    const bool is_refused =
        response.status == 400 || response.status == 403 || response.status == 422;
    if (is_refused && !is_of_missing_right(response.body)) return false;
    if (is_of_a_budget(response.body)) return false;
    if (error.code == Code::conflict && is_of_a_namesake(response.body))
        error.code = Code::not_found;
    return fail(std::move(error));
}

Result<> KubeEvictions::patch_status(const PodName& pod, const std::string& body,
                                     const char* content_type) {
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = path_of(pod, "status"),
                        .body = body,
                        .content_type = content_type},
                       kDeadline));
    return {};
}

Result<bool> KubeEvictions::may_evict(const PodUid& uid, const PodName& pod) {
    return post_eviction(uid, pod, true);
}

Result<bool> KubeEvictions::evict(const PodUid& uid, const PodName& pod) {
    return post_eviction(uid, pod, false);
}

Result<> KubeEvictions::mark_preempted(const PodUid& uid, const PodName& pod,
                                       const PodName& preemptor) {
    const std::string by = Reader::of(pod.space).words_for(preemptor);
    auto marked =
        patch_status(pod, write_preempted(uid, by), "application/strategic-merge-patch+json");
    const auto told =
        post_pod_event(http_,
                       {.pod = uid,
                        .name = pod,
                        .type = PodEventType::normal,
                        .reason = "Preempted",
                        .message = fmt::format("Preempted by {}: it needs the card", by),
                        .source = "tessera-controller"},
                       kDeadline);
    if (marked && !told) return fail(told.error());
    return marked;
}

Result<> KubeEvictions::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return patch_status(pod, write_nomination(uid, node), "application/merge-patch+json");
}

}  // namespace tessera
