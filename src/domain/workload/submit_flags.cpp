#include "domain/workload/submit_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/dns_name.hpp"
#include "domain/request/gang.hpp"
#include "domain/workload/refuse_flag.hpp"
#include "domain/workload/shell_text.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostWorkers = 1'000;
constexpr int kMostRetries = 1'000;
constexpr std::int64_t kMostSeconds = std::int64_t{10} * 365 * 86'400;
// The variable with the number of a pod in its role. Kubernetes sets JOB_COMPLETION_INDEX after all
// others, so that no value can contain it.
constexpr std::string_view kIndex = "TESSERA_TASK_INDEX";
constexpr std::string_view kIndexField =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";

Result<> check_number(std::string_view flag, int value, int least, int most) {
    if (value >= least && value <= most) return {};
    return refuse(flag, fmt::format("{} is not a number from {} to {}", value, least, most));
}

// What torchrun accepts.
Result<> check_nproc(const std::string& text) {
    const auto number = parse_whole_quantity(text);
    if (text == "auto" || text == "cpu" || text == "gpu" || (number && *number >= 1)) return {};
    return refuse("--nproc-per-node",
                  fmt::format("\"{}\" is neither a number from 1 nor auto, cpu or gpu", text));
}

std::string command_text(const SubmitFlags& flags) {
    std::string out = flags.pod.command;
    for (const std::string& word : flags.words)  // as Arena joins them
        out += (out.empty() ? "" : " ") + word;
    return out;
}

// The pod of every role.
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
    return out;
}

// All pods of the job are placed together or not at all.
void make_gang(Training& job) {
    int pods = 0;
    for (const Role& role : job.roles)
        pods += role.replicas;
    for (Role& role : job.roles) {
        role.pod.annotations.insert_or_assign("tessera.dev/gang", job.name);
        role.pod.annotations.insert_or_assign("tessera.dev/gang-size", std::to_string(pods));
    }
}

// Pods that work together find each other by name. NCCL refuses two of them on one GPU, so each
// gets a GPU of its own.
void connect(Training& job) {
    job.has_service = true;
    for (Role& role : job.roles) {
        role.pod.subdomain = job.name;
        if (role.pod.gpus.is_share())
            role.pod.labels.emplace("tessera.dev/gpu-anti-affinity", job.name);
        role.pod.env.insert(role.pod.env.begin(), EnvVar{.name = std::string(kIndex),
                                                         .value = {},
                                                         .field_path = std::string(kIndexField)});
    }
}

// Variables of the user with these names take precedence.
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

// TensorFlow's description of the cluster and of the task in it, in JSON. Source: TensorFlow's
// guide "Distributed training with TensorFlow", TF_CONFIG.
std::string tf_config(const Training& job, const Role& own, int port) {
    std::string cluster;
    for (const Role& role : job.roles) {
        std::string hosts;
        for (int i = 0; i < role.replicas; ++i)
            hosts += fmt::format("{}\"{}:{}\"", i == 0 ? "" : ",", host_of(job, role, i), port);
        cluster += fmt::format("{}\"{}\":[{}]", cluster.empty() ? "" : ",", role.name, hosts);
    }
    return fmt::format(
        R"({{"cluster":{{{}}},"task":{{"type":"{}","index":{}}},"environment":"cloud"}})", cluster,
        own.name, index_text());
}

void add_pytorch_variables(const PytorchJobFlags& flags, const Training& job, Role& role) {
    const std::string master = host_of(job, role, 0);
    const std::string port = std::to_string(flags.port);
    const std::string nodes = std::to_string(role.replicas);
    PodTemplate& pod = role.pod;
    // For programs that read the variables of torch.distributed themselves.
    add_variable(pod, "MASTER_ADDR", master);
    add_variable(pod, "MASTER_PORT", port);
    add_variable(pod, "WORLD_SIZE", nodes);
    add_variable(pod, "RANK", index_text());
    // The options of torchrun.
    add_variable(pod, "PET_NNODES", nodes);
    add_variable(pod, "PET_NPROC_PER_NODE", flags.nproc_per_node);
    add_variable(pod, "PET_NODE_RANK", index_text());
    add_variable(pod, "PET_MASTER_ADDR", master);
    add_variable(pod, "PET_MASTER_PORT", port);
}

Result<Training> finished(Training job, const SubmitFlags& flags) {
    if (!flags.gang) return job;
    int pods = 0;
    for (const Role& role : job.roles)
        pods += role.replicas;
    if (pods > kMostGangPods) {
        return refuse("--gang", fmt::format("{} pods are more than a gang may have ({})", pods,
                                            kMostGangPods));
    }
    make_gang(job);
    return job;
}

}  // namespace

Result<std::int64_t> parse_duration(std::string_view flag, std::string_view text) {
    const auto bad = [&] {
        return refuse(flag,
                      fmt::format("\"{}\" is not a duration such as 90s, 30m or 1h30m", text));
    };
    std::int64_t sum = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        std::int64_t number = 0;
        std::size_t digits = 0;
        while (digits < rest.size() && is_digit(rest[digits]) && digits < 10)
            number = number * 10 + (rest[digits++] - '0');
        if (digits == 0 || digits == rest.size()) return bad();
        const char unit = rest[digits];
        if (unit != 's' && unit != 'm' && unit != 'h') return bad();
        sum += number * (unit == 'h' ? 3'600 : unit == 'm' ? 60 : 1);
        rest.remove_prefix(digits + 1);
    }
    if (sum < 1 || sum > kMostSeconds) return bad();
    return sum;
}

Result<Training> tensorflow_job(const TensorflowJobFlags& flags) {
    const SubmitFlags& submit = flags.submit;
    TRY(Training job, begin_training(submit, TrainingType::tensorflow));
    TRY(const PodTemplate pod, pod_of(submit, job.type));
    TRY_VOID(check_number("--worker-port", flags.port, 1, 65'535));
    const bool all_workers = flags.success_policy == "AllWorkers";
    if (!all_workers && flags.success_policy != "ChiefWorker") {
        return refuse(
            "--success-policy",
            fmt::format("\"{}\" is neither ChiefWorker nor AllWorkers", flags.success_policy));
    }
    if (flags.chief && all_workers) {
        return refuse("--success-policy", "AllWorkers cannot be used with --chief, which decides");
    }
    if (flags.chief && !submit.queue.empty()) {
        return refuse("--queue",
                      "cannot be used with --chief: Kueue would admit the chief and the "
                      "workers separately; leave out --chief");
    }
    if (flags.chief) job.roles.push_back({.name = "chief", .pod = pod});
    job.roles.push_back({.name = "worker",
                         .replicas = submit.workers,
                         .pod = pod,
                         .first_decides = !flags.chief && !all_workers && submit.workers > 1});
    if (flags.chief || submit.workers > 1) {
        connect(job);
        for (Role& role : job.roles)
            add_variable(role.pod, "TF_CONFIG", tf_config(job, role, flags.port));
    }
    // TensorFlow otherwise takes all the memory of its GPU at the start.
    for (Role& role : job.roles) {
        if (role.pod.gpus.is_share()) add_variable(role.pod, "TF_FORCE_GPU_ALLOW_GROWTH", "true");
    }
    return finished(std::move(job), submit);
}

Result<Training> pytorch_job(const PytorchJobFlags& flags) {
    const SubmitFlags& submit = flags.submit;
    TRY(Training job, begin_training(submit, TrainingType::pytorch));
    TRY(const PodTemplate pod, pod_of(submit, job.type));
    TRY_VOID(check_number("--master-port", flags.port, 1, 65'535));
    TRY_VOID(check_nproc(flags.nproc_per_node));
    job.roles.push_back({.name = "worker",
                         .replicas = submit.workers,
                         .pod = pod,
                         .first_decides = submit.workers > 1});
    if (submit.workers > 1) {
        connect(job);
        add_pytorch_variables(flags, job, job.roles.front());
    } else if (flags.nproc_per_node != "1") {
        add_variable(job.roles.front().pod, "PET_NPROC_PER_NODE", flags.nproc_per_node);
    }
    return finished(std::move(job), submit);
}

Result<Training> plain_job(const SubmitFlags& flags) {
    TRY(Training job, begin_training(flags, TrainingType::job));
    TRY(const PodTemplate pod, pod_of(flags, job.type));
    job.roles.push_back({.name = "worker", .replicas = flags.workers, .pod = pod});
    return finished(std::move(job), flags);
}

}  // namespace tessera::workload
