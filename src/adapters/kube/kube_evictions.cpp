#include "adapters/kube/kube_evictions.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pod_events.hpp"
#include "domain/events/reader.hpp"
#include "wire/kube/eviction_json.hpp"
#include "wire/kube/pod_status_json.hpp"

namespace tessera {
namespace {

// The time that the API server may take, as for a Binding (kube_client.cpp). It retries an eviction
// that conflicts with another write of the pod for longer than that. A late eviction ends a pod,
// but never assigns a GPU twice.
constexpr std::chrono::milliseconds kServers{2'000};
constexpr std::chrono::milliseconds kDeadline = Evictions::kTakes - kServers;

std::string path_of(const PodName& pod, std::string_view part) {
    return fmt::format("/api/v1/namespaces/{}/pods/{}/{}?timeout={}ms", pod.ns, pod.name, part,
                       kServers.count());
}

}  // namespace

Result<bool> KubeEvictions::post_eviction(const PodUid& uid, const PodName& pod, bool dry_run) {
    const std::string path = path_of(pod, "eviction");
    TRY(const HttpResponse response, http_.send({.method = "POST",
                                                 .path = path,
                                                 .body = write_eviction(uid, pod, dry_run),
                                                 .content_type = "application/json"},
                                                kDeadline));
    if (response.status >= 200 && response.status < 300) return true;
    Error error = kube_error(response, path);
    // Admission answers 403, or any status that a webhook chooses.
    const bool is_refused =
        response.status == 400 || response.status == 403 || response.status == 422;
    if (is_refused && !is_of_missing_right(response.body)) return false;
    if (is_of_a_budget(response.body)) return false;
    if (error.code == Code::conflict && is_of_a_namesake(response.body))
        error.code = Code::not_found;
    return fail(std::move(error));
}

Result<> KubeEvictions::patch_status(const PodName& pod, const std::string& body,
                                     const char* content_type, std::string_view manager) {
    TRY_VOID(kube_call(http_,
                       {.method = "PATCH",
                        .path = path_of(pod, "status") +
                                (manager.empty() ? "" : fmt::format("&fieldManager={}", manager)),
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
    const std::string by = Reader::of(pod.ns).words_for(preemptor);
    auto marked =
        patch_status(pod, write_preempted(uid, by), "application/strategic-merge-patch+json");
    const auto written =
        post_pod_event(http_,
                       {.pod = uid,
                        .name = pod,
                        .type = PodEventType::normal,
                        .reason = kPreempted,
                        .message = fmt::format("Preempted by {}: it needs the GPU", by),
                        .source = "tessera-controller"},
                       kDeadline);
    if (marked && !written) return fail(written.error());
    return marked;
}

Result<> KubeEvictions::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return patch_status(pod, write_nomination(uid, node), "application/merge-patch+json");
}

Result<> KubeEvictions::nominate_ahead(const PodUid& uid, const PodName& pod,
                                       const NodeName& node) {
    return patch_status(pod, write_first_nomination(uid, node), "application/json-patch+json",
                        kNominator);
}

Result<> KubeEvictions::withdraw(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return patch_status(pod, write_withdrawal(uid, node), "application/json-patch+json");
}

}  // namespace tessera
