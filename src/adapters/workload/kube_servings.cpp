#include "adapters/workload/kube_servings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/scaler_json.hpp"
#include "wire/workload/serving_json.hpp"
#include "wire/workload/serving_status_json.hpp"
#include "wire/workload/traffic_split_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingStatus;

constexpr std::chrono::milliseconds kDeadline{10'000};

// What splits the traffic of the jobs of one name.
struct Split {
    std::optional<workload::SharedServiceState> service;
    std::optional<workload::TrafficRoute> route;
};
using Splits = std::map<std::pair<std::string, std::string>, Split>;  // by namespace and name

// `jobs`: ordered by namespace and name.
void add_traffic(std::vector<ServingStatus>& jobs, const Splits& splits) {
    for (auto first = jobs.begin(); first != jobs.end();) {
        const auto last = std::find_if(first, jobs.end(), [&](const ServingStatus& job) {
            return job.ns != first->ns || job.id.name != first->id.name;
        });
        const std::span<ServingStatus> same(first, last);
        if (const auto split = splits.find({first->ns, first->id.name}); split != splits.end()) {
            const auto& [service, route] = split->second;
            const bool by_route = route && is_owned_by(route->owners, same);
            const bool by_service = service && is_owned_by(service->owners, same);
            workload::set_traffic(same, by_route ? &*route : nullptr,
                                  by_service ? service->address : "");
        }
        first = last;
    }
}

}  // namespace

Result<std::vector<ServingStatus>> KubeServings::list(const std::string& ns,
                                                      const std::string& name) {
    std::map<std::pair<std::string, std::string>, ServingStatus> jobs;  // by namespace and object
    const auto of = [&](JsonValue object) {
        return jobs.find(
            {object["metadata"]["namespace"].text_or(""), workload::read_serving_of(object)});
    };
    const auto each = [&](const ObjectKind& kind, const ReadItem& read) {
        return each_labelled(http_, kind, ns, workload::kServingNameLabel, name, read);
    };
    TRY_VOID(each(kDeployments, [&](JsonValue json) {
        auto job = workload::read_serving(json);
        if (!job) return;
        std::pair key(job->ns, job->object);
        jobs.insert_or_assign(std::move(key), *std::move(job));
    }));
    Splits splits;
    TRY_VOID(each(kServices, [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            workload::read_serving_service(json, job->second);
        if (const auto shared = workload::read_shared_service(json))
            splits[{shared->ns, shared->name}].service = shared;
    }));
    TRY_VOID(each(kPods, [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            job->second.pods.push_back(workload::read_workload_pod(json));
    }));
    const auto scalers = each(kScalers, [&](JsonValue json) {
        const auto job = of(json);
        if (job != jobs.end() && workload::is_owned_by(json, job->second.uid))
            job->second.scaling = workload::read_scaler(json);
    });
    if (!scalers && scalers.error().code != Code::permission_denied) return fail(scalers.error());
    // Without the Gateway API, or the right to list its routes, there is none to show.
    const auto routes = each(kHttpRoutes, [&](JsonValue json) {
        if (const auto route = workload::read_route(json))
            splits[{route->ns, route->name}].route = route;
    });
    const bool is_harmless = routes || routes.error().code == Code::not_found ||
                             routes.error().code == Code::permission_denied;
    if (!is_harmless) return fail(routes.error());
    std::vector<ServingStatus> out;
    out.reserve(jobs.size());
    for (auto& [key, job] : jobs)
        out.push_back(std::move(job));
    std::ranges::sort(out, {}, [](const ServingStatus& job) {
        return std::tie(job.ns, job.id.name, job.id.version, job.id.type);
    });
    add_traffic(out, splits);
    return out;
}

Result<std::string> KubeServings::create(const Serving& job) {
    return create_object(http_, kDeployments, job.ns, workload::write_serving_deployment(job));
}

Result<> KubeServings::create_service(const Serving& job, const std::string& owner) {
    TRY_VOID(create_owned(http_, kServices, job.ns, job.id.object(),
                          workload::write_serving_service(job, owner), {job.id.object(), owner}));
    return {};
}

Result<> KubeServings::create_files(const Serving& job, const std::string& owner) {
    TRY_VOID(create_owned(http_, kConfigMaps, job.ns, files_name(job),
                          workload::write_serving_files(job, owner), {job.id.object(), owner}));
    return {};
}

Result<> KubeServings::set_scaling(const Serving& job, const std::string& owner) {
    const std::string name = job.id.object();
    if (!job.scaling) return remove_owned(http_, kScalers, job.ns, name, owner);
    TRY(const bool is_new, create_owned(http_, kScalers, job.ns, name,
                                        workload::write_scaler(job, owner), {name, owner}));
    if (is_new) return {};
    const auto done = kube_merge_patch(http_, path_of(kScalers, job.ns) + "/" + name,
                                       workload::write_scaler_update(job), kDeadline);
    if (!done) return fail(with_right(done.error(), "patch", kScalers, job.ns));
    return {};
}

Result<std::vector<workload::File>> KubeServings::files(const ServingStatus& job) {
    std::vector<workload::File> out;
    if (job.files.empty()) return out;
    const std::string path = path_of(kConfigMaps, job.ns) + "/" + job.files;
    const auto body = kube_call(http_, {.method = "GET", .path = path}, kDeadline);
    if (!body) return fail(with_right(body.error(), "get", kConfigMaps, job.ns));
    TRY(const auto document, JsonDocument::parse(*body));
    for (const auto& [file, key] : job.file_keys)
        out.push_back({file, document.root()["data"][key].text_or("")});
    return out;
}

Result<> KubeServings::update(const Serving& job, const ServingStatus& before,
                              const workload::ServingChange& change) {
    return json_patch_object(
        http_, kDeployments, job.ns, before.object,
        workload::write_serving_update(job, before.uid, before.recorded, change),
        "the serving job " + job.id.name);
}

Result<> KubeServings::remove(const ServingStatus& job) {
    return delete_object(http_, kDeployments, job.ns, job.object, job.uid);
}

Result<std::vector<NodeInventory>> KubeServings::nodes() {
    return read_nodes(http_);
}

}  // namespace tessera
