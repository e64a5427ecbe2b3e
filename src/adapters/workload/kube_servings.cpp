#include "adapters/workload/kube_servings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/serving_json.hpp"
#include "wire/workload/serving_status_json.hpp"
#include "wire/workload/workload_pod_json.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingStatus;

constexpr std::chrono::milliseconds kDeadline{10'000};

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
    TRY_VOID(each(kServices, [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            workload::read_serving_service(json, job->second);
    }));
    TRY_VOID(each(kPods, [&](JsonValue json) {
        if (const auto job = of(json); job != jobs.end())
            job->second.pods.push_back(workload::read_workload_pod(json));
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
    const auto done =
        kube_call(http_,
                  {.method = "PATCH",
                   .path = path_of(kDeployments, job.ns) + "/" + before.object,
                   .body = workload::write_serving_update(job, before.uid, before.recorded, change),
                   .content_type = "application/json-patch+json"},
                  kDeadline);
    if (done) return {};
    // The text of the API server if a test of the patch fails.
    if (done.error().text.find("due to an error in our request") != std::string::npos) {
        return fail(Code::conflict,
                    fmt::format("the serving job {} was changed by another command at the same "
                                "time; try again",
                                job.id.name));
    }
    return fail(with_right(done.error(), "patch", kDeployments, job.ns));
}

Result<> KubeServings::remove(const ServingStatus& job) {
    return delete_object(http_, kDeployments, job.ns, job.object, job.uid);
}

Result<std::vector<NodeInventory>> KubeServings::nodes() {
    return read_nodes(http_);
}

}  // namespace tessera
