#include "adapters/autoscaling/pod_request_counts.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "adapters/autoscaling/each_at_once.hpp"
#include "adapters/http/http.hpp"
#include "wire/text/prometheus_text.hpp"

namespace tessera {
namespace {

// With these, RequestRates::kMostPods that do not answer take less than RequestRates::kOldest, so
// that the others have rates.
constexpr std::chrono::milliseconds kDeadline{1'000};
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kAtOnce = 64;

Result<std::int64_t> count_of(const MeasuredPod& pod, const std::stop_token& stop) {
    HttpEndpoint endpoint{.host = pod.address, .port = pod.counter->port, .tls = false};
    endpoint.most_answer_bytes = kMostBytes;
    endpoint.is_direct = true;
    HttpClient client(std::move(endpoint));
    TRY(const HttpResponse answer,
        client.send({.method = "GET", .path = pod.counter->path, .accept = "text/plain"}, kDeadline,
                    stop));
    if (answer.status != 200) return fail(Code::unavailable, "no metrics");
    return sum_of_counter(answer.body, pod.counter->metric);
}

}  // namespace

std::vector<RequestCount> PodRequestCounts::read(std::span<const MeasuredPod> pods,
                                                 const std::stop_token& stop) {
    std::vector<std::optional<RequestCount>> answers(pods.size());
    each_at_once(pods.size(), kAtOnce, [&](std::size_t i) {
        if (pods[i].address.empty() || !pods[i].counter || stop.stop_requested()) return;
        if (const auto milli = count_of(pods[i], stop)) {
            answers[i] = RequestCount{.pod = pods[i].uid,
                                      .at = clock_.steady(),
                                      .unix_s = clock_.unix_ns() / 1'000'000'000,
                                      .milli = *milli};
        }
    });
    std::vector<RequestCount> out;
    out.reserve(answers.size());
    for (std::optional<RequestCount>& answer : answers) {
        if (answer) out.push_back(*std::move(answer));
    }
    return out;
}

}  // namespace tessera
