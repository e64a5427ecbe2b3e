#include "adapters/workload/kube_servings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/workload/serving_json.hpp"
#include "wire/workload/serving_status_json.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingStatus;

constexpr std::chrono::milliseconds kDeadline{10'000};
// A log that is followed ends after a day without a line.
constexpr std::chrono::seconds kSilence{24 * 3600};

// The path of a resource, in a namespace or in all.
std::string path_of(std::string_view api, const std::string& ns, std::string_view resource) {
    if (ns.empty()) return fmt::format("{}/{}", api, resource);
    return fmt::format("{}/namespaces/{}/{}", api, ns, resource);
}

// Name and key are legal label values and keys, of which only "/" is special in a query.
std::string selector(const std::string& name) {
    std::string key(workload::kServingNameLabel);
    key.replace(key.find('/'), 1, "%2F");
    return "labelSelector=" + key + (name.empty() ? "" : "%3D" + name);
}

Error advise(Error error, std::string_view right, const std::string& ns) {
    if (error.code == Code::permission_denied)
        error.text += fmt::format("; you need the right to {} in namespace {}", right, ns);
    return error;
}

}  // namespace

Result<std::vector<ServingStatus>> KubeServings::list(const std::string& ns,
                                                      const std::string& name) {
    std::map<std::pair<std::string, std::string>, ServingStatus> jobs;  // by namespace and object
    const auto of = [&](JsonValue object) {
        return jobs.find(
            {object["metadata"]["namespace"].text_or(""), workload::read_serving_of(object)});
    };
    const auto each = [&](std::string_view api, std::string_view resource, const char* right,
                          const ReadItem& read) {
        return each_item(http_, with_query(path_of(api, ns, resource), selector(name)), right,
                         read);
    };
    TRY_VOID(each("/apis/apps/v1", "deployments", "list deployments.apps", [&](JsonValue json) {
        if (auto job = workload::read_serving(json))
            jobs.insert_or_assign({job->ns, job->object}, *std::move(job));
    }));
    TRY_VOID(each("/api/v1", "services", "list services", [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            workload::read_serving_service(json, job->second);
    }));
    TRY_VOID(each("/api/v1", "pods", "list pods", [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            job->second.pods.push_back(workload::read_serving_pod(json));
    }));
    std::vector<ServingStatus> out;
    out.reserve(jobs.size());
    for (auto& [key, job] : jobs)
        out.push_back(std::move(job));
    std::ranges::sort(out, {}, [](const ServingStatus& job) {
        return std::tie(job.ns, job.id.name, job.id.version, job.id.type);
    });
    return out;
}

Result<std::string> KubeServings::create(const Serving& job) {
    const auto created = kube_call(http_,
                                   {.method = "POST",
                                    .path = path_of("/apis/apps/v1", job.ns, "deployments"),
                                    .body = workload::write_serving_deployment(job),
                                    .content_type = "application/json"},
                                   kDeadline);
    if (!created) return fail(advise(created.error(), "create deployments.apps", job.ns));
    TRY(const auto document, JsonDocument::parse(*created));
    return document.root()["metadata"]["uid"].text_or("");
}

Result<> KubeServings::create_service(const Serving& job, const std::string& owner) {
    const auto created = kube_call(http_,
                                   {.method = "POST",
                                    .path = path_of("/api/v1", job.ns, "services"),
                                    .body = workload::write_serving_service(job, owner),
                                    .content_type = "application/json"},
                                   kDeadline);
    if (!created) return fail(advise(created.error(), "create services", job.ns));
    return {};
}

Result<> KubeServings::create_files(const Serving& job, const std::string& owner) {
    const auto created = kube_call(http_,
                                   {.method = "POST",
                                    .path = path_of("/api/v1", job.ns, "configmaps"),
                                    .body = workload::write_serving_files(job, owner),
                                    .content_type = "application/json"},
                                   kDeadline);
    if (created || created.error().code == Code::conflict) return {};
    return fail(advise(created.error(), "create configmaps", job.ns));
}

Result<> KubeServings::update(const Serving& job, const ServingStatus& before, bool replicas) {
    const auto done = kube_call(
        http_,
        {.method = "PATCH",
         .path = path_of("/apis/apps/v1", job.ns, "deployments/") + job.id.object(),
         .body = workload::write_serving_update(job, before.uid, before.recorded, replicas),
         .content_type = "application/json-patch+json"},
        kDeadline);
    // The API server gives no reason for a test of the patch that fails.
    if (!done && done.error().code == Code::invalid_argument) {
        return fail(Code::conflict,
                    fmt::format("the serving job {} was changed by another command, or the API "
                                "server refuses the change: {}",
                                job.id.name, done.error().text));
    }
    if (!done) return fail(advise(done.error(), "patch deployments.apps", job.ns));
    return {};
}

Result<> KubeServings::remove(const ServingStatus& job) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "DeleteOptions");
        w.member("propagationPolicy", "Background");
        w.object("preconditions", [&] { w.member("uid", job.uid); });
    });
    const auto done =
        kube_call(http_,
                  {.method = "DELETE",
                   .path = path_of("/apis/apps/v1", job.ns, "deployments/") + job.object,
                   .body = w.take(),
                   .content_type = "application/json"},
                  kDeadline);
    if (!done) return fail(advise(done.error(), "delete deployments.apps", job.ns));
    return {};
}

Result<std::vector<NodeInventory>> KubeServings::nodes() {
    std::vector<NodeInventory> out;
    TRY_VOID(each_item(http_, "/api/v1/nodes", "list nodes",
                       [&](JsonValue json) { out.push_back(read_node(json)); }));
    return out;
}

Result<> KubeServings::logs(const std::string& ns, const std::string& pod,
                            const LogOptions& options,
                            const std::function<void(std::string_view)>& print) {
    std::string path = path_of("/api/v1", ns, "pods/") + pod + "/log?";
    if (!options.container.empty()) path += "container=" + options.container + "&";
    if (options.tail >= 0) path += fmt::format("tailLines={}&", options.tail);
    if (options.since_s > 0) path += fmt::format("sinceSeconds={}&", options.since_s);
    if (options.timestamps) path += "timestamps=true&";
    if (options.previous) path += "previous=true&";
    path += options.follow ? "follow=true" : "follow=false";
    const auto take = [&](std::string_view text) {
        print(text);
        return true;
    };
    TRY(const HttpResponse response, http_.stream(path, take, kSilence, {}));
    if (response.status == 200) return {};
    return fail(advise(kube_error(response, path), "get pods/log", ns));
}

}  // namespace tessera
