#include "adapters/kube/kube_pod_events.hpp"

#include <fmt/format.h>

#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/event_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{4'000};
// The number of events that are remembered; after that the memory is cleared.
constexpr std::size_t kMostKnown = 1024;

std::int64_t unix_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string events_of(const PodEvent& event) {
    return fmt::format("/api/v1/namespaces/{}/events", event.name.ns);
}

std::string key_of(const PodEvent& event) {
    return fmt::format("{}\n{}\n{}", event.pod.str(), event.reason, event.message);
}

}  // namespace

Result<std::string> post_pod_event(HttpClient& http, const PodEvent& event,
                                   std::chrono::milliseconds deadline) {
    TRY(const std::string body,
        kube_post(http, events_of(event), write_pod_event(event, unix_s()), deadline));
    const auto made = JsonDocument::parse(body);
    return made ? made->root()["metadata"]["name"].text_or("") : "";
}

Result<> KubePodEvents::tell(const PodEvent& event) {
    const std::string key = key_of(event);
    Known known;
    {
        const MutexLock lock(mutex_);
        if (const auto at = known_.find(key); at != known_.end()) known = at->second;
    }
    ++known.count;
    if (!known.name.empty()) {
        const auto again = tell_again(event, known);
        const bool is_no_more = !again && (again.error().code == Code::not_found ||
                                           again.error().code == Code::permission_denied);
        if (!again && !is_no_more) return again;
        if (is_no_more) known.name.clear();
    }
    if (known.name.empty()) {
        TRY(std::string name, post_pod_event(http_, event, kDeadline));
        known = {std::move(name), 1};
    }
    const MutexLock lock(mutex_);
    if (known_.size() >= kMostKnown) known_.clear();
    known_[key] = known;
    return {};
}

// The event may be gone, because the API server keeps events for an hour.
Result<> KubePodEvents::tell_again(const PodEvent& event, const Known& known) {
    return kube_merge_patch(http_, fmt::format("{}/{}", events_of(event), known.name),
                            write_event_again(known.count, unix_s()), kDeadline);
}

}  // namespace tessera
