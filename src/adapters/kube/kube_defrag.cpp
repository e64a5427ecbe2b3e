#include "adapters/kube/kube_defrag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_cluster.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/defrag_json.hpp"
#include "wire/kube/eviction_json.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

// The API server itself retries an eviction that conflicts with another write of the pod.
constexpr std::chrono::milliseconds kEviction{10'000};

Result<> read_waiting_jobs(HttpClient& http, std::set<std::string>& out) {
    return each_item(http, "/apis/batch/v1/jobs", "list jobs.batch", [&](JsonValue json) {
        if (auto uid = read_waiting_job(json)) out.insert(*std::move(uid));
    });
}

}  // namespace

Result<defrag::ClusterObjects> KubeDefrag::read() {
    // Budgets are read before pods; the eviction API enforces a budget that is created later.
    std::vector<defrag::Budget> budgets;
    TRY_VOID(each_item(http_, "/apis/policy/v1/poddisruptionbudgets",
                       "list poddisruptionbudgets.policy",
                       [&](JsonValue json) { budgets.push_back(read_budget(json)); }));
    TRY(defrag::ClusterObjects out, read_cluster(http_));
    out.budgets = std::move(budgets);
    if (std::ranges::any_of(out.states, defrag::is_movable_of_a_job))
        TRY_VOID(read_waiting_jobs(http_, out.waiting_jobs));
    return out;
}

Result<std::vector<defrag::PodState>> KubeDefrag::pods_of(const std::string& ns) {
    std::vector<defrag::PodState> out;
    TRY_VOID(each_item(http_, fmt::format("/api/v1/namespaces/{}/pods", ns), "list pods",
                       [&](JsonValue json) { out.push_back(read_pod_state(json)); }));
    return out;
}

Result<> KubeDefrag::evict(const PodUid& uid, const PodName& pod) {
    const std::string path =
        fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", pod.ns, pod.name);
    TRY(const HttpResponse response, http_.send({.method = "POST",
                                                 .path = path,
                                                 .body = write_eviction(uid, pod, false),
                                                 .content_type = "application/json"},
                                                kEviction));
    if (response.status >= 200 && response.status < 300) return {};
    Error error = kube_error(response, path);
    if (response.status == 403 && is_of_missing_right(response.body)) {
        error.text += "; you need the right to create pods/eviction";
        return fail(std::move(error));
    }
    // Admission answers 403, or any status that a webhook chooses.
    const bool is_refused =
        response.status == 400 || response.status == 403 || response.status == 422;
    if (is_refused || is_of_a_budget(response.body))
        return fail(Code::conflict, eviction_refusal(response.body));
    if (error.code == Code::conflict && is_of_a_namesake(response.body))
        error.code = Code::not_found;
    return fail(std::move(error));
}

}  // namespace tessera
