#include "adapters/workload/kube_trainings.hpp"

#include <map>
#include <utility>

#include "adapters/kube/kube_pages.hpp"
#include "adapters/workload/workload_calls.hpp"
#include "wire/workload/object_json.hpp"
#include "wire/workload/training_json.hpp"
#include "wire/workload/training_status_json.hpp"

namespace tessera {

using workload::Training;
using workload::TrainingStatus;

namespace {

Anchor anchor_of(const Training& job, const std::string& uid) {
    return {job.object(job.roles.front()), uid};
}

}  // namespace

Result<std::vector<TrainingStatus>> KubeTrainings::list(const std::string& ns,
                                                        const std::string& name) {
    std::map<std::pair<std::string, std::string>, TrainingStatus> jobs;  // by namespace and name
    const auto key_of = [](JsonValue object) {
        return std::pair(object["metadata"]["namespace"].text_or(""),
                         workload::read_training_of(object));
    };
    const auto path = [&](const ObjectKind& kind) {
        return labelled_path(kind, ns, workload::kJobNameLabel, name);
    };
    TRY_VOID(each_item(http_, path(kJobs), "list jobs.batch", [&](JsonValue json) {
        auto role = workload::read_training_role(json);
        if (!role) return;
        const auto at = jobs.find(key_of(json));
        if (at == jobs.end()) {
            jobs.emplace(key_of(json), *std::move(role));
        } else {
            workload::add_role(at->second, *std::move(role));
        }
    }));
    TRY_VOID(each_item(http_, path(kServices), "list services", [&](JsonValue json) {
        const auto at = jobs.find(key_of(json));
        if (at != jobs.end() && workload::is_owned_by(json, at->second.anchor().uid))
            at->second.has_service = true;
    }));
    TRY_VOID(each_item(http_, path(kPods), "list pods", [&](JsonValue json) {
        if (const auto at = jobs.find(key_of(json)); at != jobs.end())
            at->second.pods.push_back(workload::read_training_pod(json));
    }));
    std::vector<TrainingStatus> out;
    out.reserve(jobs.size());
    for (auto& [key, job] : jobs) {
        workload::sort_pods(job);
        out.push_back(std::move(job));
    }
    return out;
}

Result<std::string> KubeTrainings::create(const Training& job) {
    return create_object(http_, kJobs, job.ns,
                         workload::write_training_role(job, job.roles.front(), ""));
}

Result<> KubeTrainings::create_service(const Training& job, const std::string& owner) {
    return create_owned(http_, kServices, job.ns, job.name,
                        workload::write_training_service(job, owner), anchor_of(job, owner));
}

Result<> KubeTrainings::create_files(const Training& job, const std::string& owner) {
    return create_owned(http_, kConfigMaps, job.ns, files_name(job),
                        workload::write_training_files(job, owner), anchor_of(job, owner));
}

Result<> KubeTrainings::create_role(const Training& job, const workload::Role& role,
                                    const std::string& owner) {
    return create_owned(http_, kJobs, job.ns, job.object(role),
                        workload::write_training_role(job, role, owner), anchor_of(job, owner));
}

Result<> KubeTrainings::remove(const TrainingStatus& job) {
    return delete_object(http_, kJobs, job.ns, job.anchor().object, job.anchor().uid);
}

Result<std::vector<NodeInventory>> KubeTrainings::nodes() {
    return read_nodes(http_);
}

}  // namespace tessera
