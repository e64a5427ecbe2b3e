#include "adapters/kube/kube_pod_resizes.hpp"

#include <fmt/format.h>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

// As for a Binding (kube_client.cpp): the API server gives up the write after that time.
constexpr std::chrono::milliseconds kServers{2'000};
constexpr std::chrono::milliseconds kDeadline = PodResizes::kTakes - kServers;

}  // namespace

KubePodResizes::KubePodResizes(HttpClient& api, const AllocationSeal* seal)
    : http_(api), seal_(seal) {}

Result<PodResizes::Shown> KubePodResizes::read(const PodName& pod) {
    TRY(const std::string body,
        kube_call(http_,
                  {.method = "GET",
                   .path = fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name)},
                  kDeadline));
    TRY(const auto document, JsonDocument::parse(body));
    const JsonValue metadata = document.root()["metadata"];
    return Shown{.info = read_pod(document.root(), seal_),
                 .version = metadata["resourceVersion"].text_or(""),
                 .requested = metadata["annotations"][key::kResize].text_or(""),
                 .refusal = metadata["annotations"][key::kResizeRefused].text_or("")};
}

Result<> KubePodResizes::write(const PodUid& uid, const PodName& pod, const std::string& version,
                               const StringMap& annotations) {
    return kube_merge_patch(http_,
                            fmt::format("/api/v1/namespaces/{}/pods/{}/status?timeout={}ms", pod.ns,
                                        pod.name, kServers.count()),
                            write_annotations_patch(uid, version, annotations), kDeadline);
}

Result<> KubePodResizes::request(const PodUid& uid, const PodName& pod, const std::string& version,
                                 const std::string& text) {
    const StringMap annotations{{std::string(key::kResize), text}};
    return kube_merge_patch(http_, fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name),
                            write_annotations_patch(uid, version, annotations), kDeadline);
}

}  // namespace tessera
