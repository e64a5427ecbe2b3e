#include "adapters/workload/kube_pod_logs.hpp"

#include <fmt/format.h>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"

namespace tessera {
namespace {

constexpr ObjectKind kLogs{"/api/v1", "pods", "pods/log"};
// A log that is followed ends after a day without a line.
constexpr std::chrono::seconds kSilence{24 * 3600};

// A time of RFC 3339, of which only the sign of a zone has a meaning in a query.
std::string in_query(const std::string& time) {
    std::string out;
    for (const char c : time)
        out += c == '+' ? std::string("%2B") : std::string(1, c);
    return out;
}

}  // namespace

Result<> KubePodLogs::print(const PodName& pod, const PodLogOptions& options,
                            const std::function<bool(std::string_view)>& print) {
    std::string path = path_of(kLogs, pod.ns) + "/" + pod.name + "/log?follow=";
    path += options.follow ? "true" : "false";
    if (!options.container.empty()) path += "&container=" + options.container;
    if (options.tail >= 0) path += fmt::format("&tailLines={}", options.tail);
    if (options.since_s > 0) path += fmt::format("&sinceSeconds={}", options.since_s);
    if (!options.since_time.empty()) path += "&sinceTime=" + in_query(options.since_time);
    if (options.timestamps) path += "&timestamps=true";
    if (options.previous) path += "&previous=true";
    TRY(const HttpResponse response, http_.stream(path, print, kSilence, {}));
    if (response.status == 200) return {};
    return fail(with_right(kube_error(response, path), "get", kLogs, pod.ns));
}

}  // namespace tessera
