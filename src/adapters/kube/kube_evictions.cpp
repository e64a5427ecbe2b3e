#include "adapters/kube/kube_evictions.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/eviction_json.hpp"

namespace tessera {
namespace {

// Of one request; an eviction is two.
constexpr std::chrono::milliseconds kDeadline = Evictions::kTakes / 2;

std::string path_of(const PodName& pod, std::string_view part) {
    return fmt::format("/api/v1/namespaces/{}/pods/{}/{}", pod.space, pod.name, part);
}

HttpRequest eviction(const PodUid& uid, const PodName& pod, bool only_ask) {
    return {.method = "POST",
            .path = path_of(pod, "eviction"),
            .body = write_eviction(uid, pod, only_ask),
            .content_type = "application/json"};
}

Result<> send(HttpClient& http, const HttpRequest& request) {
    const auto done = kube_call(http, request, kDeadline);
    if (!done) return fail(done.error());
    return {};
}

}  // namespace

KubeEvictions::KubeEvictions(HttpEndpoint endpoint) : http_(std::move(endpoint)) {}

Result<> KubeEvictions::may_evict(const PodUid& uid, const PodName& pod) {
    return send(http_, eviction(uid, pod, true));
}

Result<> KubeEvictions::evict(const PodUid& uid, const PodName& pod, const PodName& preemptor) {
    TRY_VOID(send(http_, eviction(uid, pod, false)));
    // Afterwards: the eviction itself writes a reason of its own there. A pod that had nothing to
    // end is gone by now.
    const auto marked = send(http_, {.method = "PATCH",
                                     .path = path_of(pod, "status"),
                                     .body = write_preempted(uid, preemptor),
                                     .content_type = "application/strategic-merge-patch+json"});
    const bool is_gone = !marked && (marked.error().code == Code::not_found ||
                                     marked.error().code == Code::conflict);
    return is_gone ? Result<>() : marked;
}

Result<> KubeEvictions::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return send(http_, {.method = "PATCH",
                        .path = path_of(pod, "status"),
                        .body = write_nomination(uid, node),
                        .content_type = "application/merge-patch+json"});
}

}  // namespace tessera
