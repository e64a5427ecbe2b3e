#include "app/workload/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/workload/gpu_fit.hpp"
#include "app/workload/half_made.hpp"
#include "app/workload/serving_text.hpp"

namespace tessera {
namespace {

using workload::Serving;
using workload::ServingStatus;
using workload::WorkloadPod;

std::string with_version(const workload::ServingName& id) {
    return id.version.empty() ? id.name : fmt::format("{} --version {}", id.name, id.version);
}

// `same`: the job whose Deployment has this name; null: `tessera serve` did not make it.
Error exists_already(const Serving& job, const ServingStatus* same) {
    if (same == nullptr) {
        return {Code::conflict,
                fmt::format("deployment {} exists already in namespace {}, and tessera serve did "
                            "not make it; choose another --name",
                            job.id.object(), job.ns)};
    }
    const std::string name = with_version(same->id);
    return {Code::conflict,
            fmt::format("the serving job {0} exists already in namespace {1}; change it with "
                        "tessera serve update {2} --name {0}, or delete it with tessera serve "
                        "delete {0}",
                        name, job.ns, row_of(same->id.type).command)};
}

// Explains a Deployment of the job's name: another name and version may give the same. Only here
// all jobs of the namespace are read.
Error name_is_taken(Servings& cluster, const Serving& job) {
    const auto jobs = cluster.list(job.ns, "");
    if (!jobs) return jobs.error();
    const auto same = std::ranges::find(*jobs, job.id.object(), &ServingStatus::object);
    return exists_already(job, same == jobs->end() ? nullptr : &*same);
}

// Whether `before` is what the same command began to make.
bool is_begun(const ServingStatus& before, const Serving& job) {
    const std::string files = job.pod.files.empty() ? "" : files_name(job);
    return before.arguments == job.arguments && before.files == files && !before.has_service;
}

// The ports of a Service do not change, because its clients know them.
Result<> check_ports(const Serving& job, const ServingStatus& before) {
    std::set<std::pair<std::string, int>> now;
    std::set<std::pair<std::string, int>> then;
    for (const workload::Port& port : job.pod.ports)
        now.emplace(port.name, port.number);
    for (const workload::ServicePort& port : before.ports)
        then.emplace(port.name, port.port);
    if (now == then || !before.has_service) return {};
    return fail(Code::invalid_argument,
                "the ports of a serving job cannot be updated, because its clients know them; "
                "delete the job and serve it again");
}

std::string scaler_name(const Serving& job) {
    return "horizontalpodautoscaler.autoscaling/" + job.id.object();
}

// A Service splits connections by the numbers of pods.
Result<> check_split(const Serving& job, const ServingStatus& before) {
    const bool is_split = before.traffic && !before.traffic->by_route &&
                          before.traffic->takes_part && !before.traffic->is_alone;
    if (!job.scaling || !is_split) return {};
    return fail(Code::conflict,
                fmt::format("--max-replicas: a Service splits the traffic of {} by the numbers of "
                            "pods, which autoscaling would change; split it by a Gateway "
                            "(tessera serve traffic-split --gateway), or leave --max-replicas out",
                            job.id.name));
}

// Also puts right what an update that was killed left, or what was changed by hand.
bool is_scaled_so(const std::optional<workload::ScalingStatus>& now,
                  const std::optional<workload::Scaling>& wanted) {
    if (!now || !wanted) return now.has_value() == wanted.has_value();
    return is_as(*now, *wanted);
}

Result<> update_scaling(Servings& cluster, const ServingStatus& before, const Serving& job,
                        bool is_changed, const PrintLine& print) {
    if (!is_changed && is_scaled_so(before.scaling, job.scaling)) return {};
    TRY_VOID(cluster.set_scaling(job, before.uid));
    print(fmt::format("{} {}", scaler_name(job),
                      !job.scaling     ? "deleted"
                      : before.scaling ? "updated"
                                       : "created"));
    return {};
}

Result<> create_owned(Servings& cluster, const Serving& job, const std::string& uid,
                      const PrintLine& print) {
    if (!job.pod.files.empty()) {
        TRY_VOID(cluster.create_files(job, uid));
        print(fmt::format("configmap/{} created", files_name(job)));
    }
    if (job.scaling) {
        TRY_VOID(cluster.set_scaling(job, uid));
        print(fmt::format("{} created", scaler_name(job)));
    }
    // The last, because it tells that nothing is missing.
    TRY_VOID(cluster.create_service(job, uid));
    print(fmt::format("service/{} created", job.id.object()));
    return {};
}

Result<> remove_made(Servings& cluster, const Serving& job, const std::string& uid) {
    ServingStatus made;
    made.ns = job.ns;
    made.object = job.id.object();
    made.uid = uid;
    return cluster.remove(made);
}

// A text for --instance, with the names of these pods.
std::string which_pod(std::string_view what, const ServingStatus& job,
                      const std::vector<WorkloadPod>& pods) {
    std::string names;
    for (const WorkloadPod& one : pods)
        names += "\n  " + one.name;
    return fmt::format("--instance: {} {}:{}", what, job.id.name, names);
}

}  // namespace

Result<> create_serving(Servings& cluster, const Serving& job, const PrintLine& print,
                        const PrintLine& warn) {
    TRY(const auto jobs, cluster.list(job.ns, job.id.name));
    const auto before = std::ranges::find(jobs, job.id, &ServingStatus::id);
    if (before != jobs.end()) {
        if (before->is_deleting) return fail(being_deleted("serving job", job.id.name));
        if (!is_begun(*before, job)) return fail(exists_already(job, &*before));
        return create_owned(cluster, job, before->uid, print);
    }
    // A user without the right to list nodes is not warned.
    if (const auto nodes = cluster.nodes()) {
        if (const std::string text = no_gpu_is_large_enough(job.pod.gpus, *nodes); !text.empty())
            warn(text);
    }
    Serving made = job;
    const bool shares = std::ranges::any_of(
        jobs, [](const ServingStatus& other) { return other.traffic.has_value(); });
    if (shares) {
        made.in_split = false;
        print(fmt::format(
            "{} gets none of the traffic that the versions of {} share; "
            "tessera serve traffic-split changes that",
            job.id.version.empty() ? "this job" : "version " + job.id.version, job.id.name));
    }
    const auto uid = cluster.create(made);
    if (!uid && uid.error().code == Code::conflict) return fail(name_is_taken(cluster, job));
    if (!uid) return fail(uid.error());
    print(fmt::format("deployment.apps/{} created", job.id.object()));
    const auto owned = create_owned(cluster, job, *uid, print);
    if (owned) return {};
    return fail(after_failure(owned.error(), "deployment",
                              [&] { return remove_made(cluster, job, *uid); }));
}

Result<> update_serving(Servings& cluster, const ServingStatus& before, const Serving& recorded,
                        const Serving& job, bool replicas, const PrintLine& print) {
    TRY_VOID(check_ports(job, before));
    TRY_VOID(check_split(job, before));
    workload::ServingChange change = change_between(recorded, job);
    change.replicas = replicas;
    if (change.pods && !job.pod.files.empty()) TRY_VOID(cluster.create_files(job, before.uid));
    if (!before.has_service) {
        TRY_VOID(cluster.create_service(job, before.uid));
        print(fmt::format("service/{} created", before.object));
    }
    TRY_VOID(update_scaling(cluster, before, job, change.scaling, print));
    if (!change.any()) {
        print(fmt::format("deployment.apps/{} unchanged", before.object));
        return {};
    }
    TRY_VOID(cluster.update(job, before, change));
    print(fmt::format("deployment.apps/{} updated", before.object));
    return {};
}

Result<ServingStatus> find_serving(Servings& cluster, const ServingChoice& choice) {
    TRY(auto jobs, cluster.list(choice.ns, choice.name));
    return choose_serving(std::move(jobs), choice);
}

Result<ServingStatus> choose_serving(std::vector<ServingStatus> jobs, const ServingChoice& choice) {
    std::erase_if(jobs, [&](const ServingStatus& job) {
        return (choice.version && job.id.version != *choice.version) ||
               (choice.type && job.id.type != *choice.type);
    });
    if (jobs.size() == 1) return std::move(jobs.front());
    if (jobs.empty()) {
        return fail(
            Code::not_found,
            fmt::format("there is no serving job {}{} in namespace {}; tessera serve list "
                        "shows those that exist",
                        choice.name,
                        choice.version ? fmt::format(" with version \"{}\"", *choice.version) : "",
                        choice.ns));
    }
    return fail(Code::conflict,
                fmt::format("{} serving jobs have the name {}; add --version or --type:\n{}",
                            jobs.size(), choice.name, serving_choice_table(jobs)));
}

Result<WorkloadPod> pod_for_logs(const ServingStatus& job, const std::string& pod) {
    if (!pod.empty()) {
        const auto named = std::ranges::find(job.pods, pod, &WorkloadPod::name);
        if (named != job.pods.end()) return *named;
    }
    if (job.pods.empty()) {
        return fail(Code::not_found, fmt::format("the serving job {} has no pod{}", job.id.name,
                                                 job.why.empty() ? "" : ": " + job.why));
    }
    if (pod.empty() && job.pods.size() == 1) return job.pods.front();
    const auto unready = std::ranges::find_if(job.pods, [](const WorkloadPod& one) {
        return !one.why.empty() && !one.node.empty() && one.phase != "Failed";
    });
    if (pod.empty() && unready != job.pods.end()) return *unready;
    return fail(
        pod.empty() ? Code::conflict : Code::not_found,
        which_pod(pod.empty() ? "name one of the pods of" : "no such pod in", job, job.pods));
}

Result<WorkloadPod> pod_for_command(const ServingStatus& job, const std::string& pod) {
    if (!pod.empty()) return pod_for_logs(job, pod);
    std::vector<WorkloadPod> running = job.pods;
    std::erase_if(running, [](const WorkloadPod& one) { return one.phase != "Running"; });
    if (running.empty()) return pod_for_logs(job, pod);
    if (running.size() == 1) return running.front();
    return fail(Code::conflict, which_pod("name one of the pods of", job, running));
}

}  // namespace tessera
