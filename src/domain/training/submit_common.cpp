#include "domain/training/submit_common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/dns_name.hpp"
#include "domain/request/gang.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostWorkers = 1'000;
constexpr int kMostRetries = 1'000;
// The resource of the RDMA shared device plugin, as Arena requests it.
constexpr const char* kRdmaAdapter = "rdma/hca";
// The variable with the number of a pod in its role. Kubernetes sets JOB_COMPLETION_INDEX after all
// others, so that no value can contain it.
constexpr std::string_view kIndex = "TESSERA_TASK_INDEX";
constexpr std::string_view kIndexField =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";

std::string command_text(const SubmitFlags& flags) {
    std::string out = flags.pod.command;
    for (const std::string& word : flags.words)  // as Arena joins them
        out += (out.empty() ? "" : " ") + word;
    return out;
}

// The pods with GPUs: others are not placed by Tessera.
int pods_with_gpus(const Training& job) {
    int pods = 0;
    for (const Role& role : job.roles)
        pods += role.pod.gpus == Gpus{} ? 0 : role.replicas;
    return pods;
}

// All pods with GPUs are placed together or not at all.
void make_gang(Training& job) {
    const std::string size = std::to_string(pods_with_gpus(job));
    for (Role& role : job.roles) {
        if (role.pod.gpus == Gpus{}) continue;
        role.pod.annotations.insert_or_assign("tessera.dev/gang", job.name);
        role.pod.annotations.insert_or_assign("tessera.dev/gang-size", size);
    }
}

}  // namespace

Result<> check_number(std::string_view flag, int value, int least, int most) {
    if (value >= least && value <= most) return {};
    return refuse(flag, fmt::format("{} is not a number from {} to {}", value, least, most));
}

Result<PodTemplate> pod_of(const SubmitFlags& flags, TrainingType type) {
    if (!flags.pod.command.empty() && !flags.words.empty()) {
        return refuse("--command", "cannot be used with a command line after the flags; write one");
    }
    PodFlags pod_flags = flags.pod;
    pod_flags.command = command_text(flags);
    if (pod_flags.command.empty()) {
        return refuse("command", "is missing; write it after the flags, as in -- python train.py");
    }
    TRY(PodTemplate pod, read_pod_flags(pod_flags, ""));
    pod.container = row_of(type).container;
    pod.restart_policy = "Never";
    pod.priority_class = flags.priority;
    pod.working_dir = flags.working_dir;
    pod.scheduler = flags.scheduler;
    pod.host = flags.host;
    pod.rdma = flags.rdma;
    if (flags.rdma) pod.limits.emplace(kRdmaAdapter, "1");
    TRY_VOID(add_code(flags.sync, pod));
    return pod;
}

Result<Training> begin_training(const SubmitFlags& flags, TrainingType type) {
    Training out{.name = flags.name,
                 .ns = flags.ns,
                 .type = type,
                 .roles = {},
                 .retries = flags.retry,
                 .queue = flags.queue,
                 .arguments = {}};
    TRY_VOID(check_training_name(flags.name));
    const auto backend = parse_backend(flags.backend);
    if (!backend) {
        return refuse("--backend",
                      fmt::format("\"{}\" is neither job nor trainjob", flags.backend));
    }
    out.backend = *backend;
    TRY_VOID(check_number("--workers", flags.workers, 1, kMostWorkers));
    TRY_VOID(check_number("--retry", flags.retry, 0, kMostRetries));
    if (!flags.running_timeout.empty()) {
        TRY(out.deadline_s, parse_duration("--running-timeout", flags.running_timeout));
    }
    if (!flags.ttl_after_finished.empty()) {
        TRY(out.ttl_s, parse_duration("--ttl-after-finished", flags.ttl_after_finished));
    }
    if (!flags.priority.empty() && !is_dns_name(flags.priority))
        return refuse("--priority", "is not the name of a PriorityClass");
    if (!flags.working_dir.empty() && !flags.working_dir.starts_with('/'))
        return refuse("--working-dir", "is not an absolute path");
    if (!flags.queue.empty() && !is_dns_name(flags.queue))
        return refuse("--queue", "is not the name of a LocalQueue of Kueue");
    if (!flags.scheduler.empty() && !is_dns_name(flags.scheduler))
        return refuse("--scheduler", "is not the name of a scheduler");
    return out;
}

void connect(Training& job) {
    job.has_service = job.backend == Backend::jobs;  // a JobSet makes its own
    for (Role& role : job.roles) {
        role.pod.subdomain = job.name;
        if (role.pod.gpus.is_share() && role.name != "evaluator")
            role.pod.labels.emplace("tessera.dev/gpu-anti-affinity", job.name);
        role.pod.env.insert(role.pod.env.begin(), EnvVar{.name = std::string(kIndex),
                                                         .value = {},
                                                         .field_path = std::string(kIndexField)});
    }
}

void add_variable(PodTemplate& pod, std::string name, std::string value) {
    if (std::ranges::find(pod.env, name, &EnvVar::name) == pod.env.end())
        pod.env.push_back({.name = std::move(name), .value = std::move(value)});
}

std::string host_of(const Training& job, const Role& role, int index) {
    return fmt::format("{}-{}.{}", job.object(role), index, job.name);
}

std::string index_text() {
    return fmt::format("$({})", kIndex);
}

Result<Training> finished(Training job, const SubmitFlags& flags) {
    for (Role& role : job.roles) {  // as in Arena
        add_variable(role.pod, "workers", std::to_string(flags.workers));
        add_variable(role.pod, "gpus", std::to_string(role.pod.gpus.whole));
    }
    TRY_VOID(add_tensorboard(flags.tensorboard, job));
    if (job.backend == Backend::train_job) {
        TRY_VOID(check_train_job(job));
        job.roles.front().pod.container = kTrainJobContainer;
    }
    if (!flags.gang) return job;
    const int pods = pods_with_gpus(job);
    if (pods > kMostGangPods) {
        return refuse("--gang", fmt::format("{} pods are more than a gang may have ({})", pods,
                                            kMostGangPods));
    }
    make_gang(job);
    return job;
}

}  // namespace tessera::workload
