#include "app/workload/serve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/workload/serving_text.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingPod;
using workload::ServingStatus;

// The job with exactly this name, type and version; nothing if there is none.
Result<std::optional<ServingStatus>> find_same(Servings& cluster, const Serving& job) {
    TRY(auto jobs, cluster.list(job.ns, job.id.name));
    const auto same = std::ranges::find(jobs, job.id, &ServingStatus::id);
    if (same == jobs.end()) return std::optional<ServingStatus>();
    return std::optional(std::move(*same));
}

Error exists_already(const Serving& job) {
    const std::string version = job.id.version.empty() ? "" : " --version " + job.id.version;
    return {Code::conflict,
            fmt::format("the serving job {0} exists already in namespace {1}; change it with "
                        "tessera serve update {2} --name {0}{3}, or delete it with tessera serve "
                        "delete {0}{3}",
                        job.id.name, job.ns, row_of(job.id.type).command, version)};
}

Result<> create_owned(Servings& cluster, const Serving& job, const std::string& uid,
                      const PrintLine& print) {
    if (!job.pod.files.empty()) {
        TRY_VOID(cluster.create_files(job, uid));
        print(fmt::format("configmap/{} created", files_name(job)));
    }
    TRY_VOID(cluster.create_service(job, uid));
    print(fmt::format("service/{} created", job.id.object()));
    return {};
}

}  // namespace

Result<> create_serving(Servings& cluster, const Serving& job, const PrintLine& print,
                        const PrintLine& warn) {
    TRY(const auto before, find_same(cluster, job));
    if (before && (before->arguments != job.arguments || before->has_service))
        return fail(exists_already(job));
    // A user without the right to list nodes is not warned.
    if (const auto nodes = cluster.nodes()) {
        if (const std::string text = no_gpu_is_large_enough(job.pod.gpus, *nodes); !text.empty())
            warn(text);
    }
    if (before) return create_owned(cluster, job, before->uid, print);
    const auto uid = cluster.create(job);
    if (!uid && uid.error().code == Code::conflict) return fail(exists_already(job));
    if (!uid) return fail(uid.error());
    print(fmt::format("deployment.apps/{} created", job.id.object()));
    const auto owned = create_owned(cluster, job, *uid, print);
    if (owned) return {};
    ServingStatus made;
    made.ns = job.ns;
    made.object = job.id.object();
    made.uid = *uid;
    Error error = owned.error();
    const auto removed = cluster.remove(made);
    error.text += removed ? "; the deployment was deleted again"
                          : fmt::format("; the deployment is left: {}", removed.error().text);
    return fail(error);
}

Result<ServingStatus> find_serving(Servings& cluster, const ServingChoice& choice) {
    TRY(auto jobs, cluster.list(choice.ns, choice.name));
    std::erase_if(jobs, [&](const ServingStatus& job) {
        return (choice.version && job.id.version != *choice.version) ||
               (choice.type && job.id.type != *choice.type);
    });
    if (jobs.size() == 1) return std::move(jobs.front());
    if (jobs.empty()) {
        return fail(Code::not_found,
                    fmt::format("there is no serving job {}{} in namespace {}; tessera serve list "
                                "shows those that exist",
                                choice.name,
                                choice.version ? " with version \"" + *choice.version + "\"" : "",
                                choice.ns));
    }
    return fail(Code::conflict,
                fmt::format("{} serving jobs have the name {}; add --version or --type:\n{}",
                            jobs.size(), choice.name, serving_choice_table(jobs)));
}

Result<ServingPod> pod_for_logs(const ServingStatus& job, const std::string& pod) {
    if (!pod.empty()) {
        const auto named = std::ranges::find(job.pods, pod, &ServingPod::name);
        if (named != job.pods.end()) return *named;
    }
    if (job.pods.empty()) {
        return fail(Code::not_found, fmt::format("the serving job {} has no pod{}", job.id.name,
                                                 job.why.empty() ? "" : ": " + job.why));
    }
    if (pod.empty() && job.pods.size() == 1) return job.pods.front();
    const auto unready = std::ranges::find_if(
        job.pods, [](const ServingPod& one) { return !one.why.empty() && !one.node.empty(); });
    if (pod.empty() && unready != job.pods.end()) return *unready;
    std::string names;
    for (const ServingPod& one : job.pods)
        names += "\n  " + one.name;
    return fail(pod.empty() ? Code::conflict : Code::not_found,
                fmt::format("--instance: {} {}:{}",
                            pod.empty() ? "name one of the pods of" : "no such pod in", job.id.name,
                            names));
}

std::string no_gpu_is_large_enough(const workload::Gpus& request,
                                   std::span<const NodeInventory> nodes) {
    if (!request.is_share()) return {};
    const NodeInventory* on = nullptr;
    const Gpu* largest = nullptr;
    for (const NodeInventory& node : nodes) {
        for (const Gpu& gpu : node.gpus) {
            if (!gpu.usable() || (largest != nullptr && gpu.capacity() <= largest->capacity()))
                continue;
            on = &node;
            largest = &gpu;
        }
    }
    if (largest == nullptr || request.memory <= largest->capacity()) return {};
    return fmt::format(
        "--gpumemory: no GPU of the cluster has {}; the largest is GPU {} of node {} "
        "({}) with {}. The pods wait until there is such a GPU",
        to_string(request.memory), largest->index, on->name.str(), largest->model,
        rounded_down(largest->capacity()));
}

}  // namespace tessera
