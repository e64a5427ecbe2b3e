#include "adapters/autoscaling/kube_measured_pods.hpp"

#include <fmt/format.h>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/autoscaling/custom_metrics_json.hpp"
#include "wire/text/url_query.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{5};

MeasuredPod read_pod(JsonValue pod) {
    MeasuredPod out{.name = pod["metadata"]["name"].text_or(""),
                    .uid = PodUid(pod["metadata"]["uid"].text_or("")),
                    .address = {},
                    .counter = {}};
    if (pod["status"]["phase"].text() == "Running")
        out.address = pod["status"]["podIP"].text_or("");
    const std::string text = pod["metadata"]["annotations"][kRequestCounterAnnotation].text_or("");
    if (auto counter = parse_request_counter(text)) out.counter = *std::move(counter);
    return out;
}

}  // namespace

Result<std::vector<MeasuredPod>> KubeMeasuredPods::select(const std::string& ns,
                                                          const std::string& selector) {
    std::string path = fmt::format("/api/v1/namespaces/{}/pods", ns);
    if (!selector.empty()) path = with_query(path, "labelSelector=" + encode_query(selector));
    std::vector<MeasuredPod> out;
    TRY_VOID(
        each_item(http_, path, "list pods", [&](JsonValue pod) { out.push_back(read_pod(pod)); }));
    return out;
}

Result<MeasuredPod> KubeMeasuredPods::get(const std::string& ns, const std::string& name) {
    TRY(const auto body,
        kube_call(http_,
                  {.method = "GET", .path = fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name)},
                  kDeadline));
    TRY(const auto document, JsonDocument::parse(body));
    return read_pod(document.root());
}

}  // namespace tessera
