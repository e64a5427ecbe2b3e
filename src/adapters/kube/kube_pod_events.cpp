#include "adapters/kube/kube_pod_events.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/event_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{4'000};

}  // namespace

Result<> post_pod_event(HttpClient& http, const PodEvent& event,
                        std::chrono::milliseconds deadline) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t unix_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    TRY_VOID(kube_call(http,
                       {.method = "POST",
                        .path = fmt::format("/api/v1/namespaces/{}/events", event.name.space),
                        .body = write_pod_event(event, unix_s),
                        .content_type = "application/json"},
                       deadline));
    return {};
}

KubePodEvents::KubePodEvents(HttpEndpoint endpoint) : http_(std::move(endpoint)) {}

Result<> KubePodEvents::tell(const PodEvent& event) {
    return post_pod_event(http_, event, kDeadline);
}

}  // namespace tessera
