#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/quantity.hpp"
#include "domain/training/submit_common.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostParameterServers = 1'000;

struct RoleRow {
    std::string_view name;
    RoleFlags TensorflowJobFlags::* flags;
    std::string_view needs;  // the flag without which the job has no such role
};

// In the order of the job: the first one that it has decides the outcome.
constexpr auto kRoles = std::to_array<RoleRow>({
    {"chief", &TensorflowJobFlags::chief_role, "--chief"},
    {"worker", &TensorflowJobFlags::worker_role, ""},
    {"ps", &TensorflowJobFlags::ps_role, "--ps"},
    {"evaluator", &TensorflowJobFlags::evaluator_role, "--evaluator"},
});

// Of such a role; 0: the job has none.
int replicas_of(const TensorflowJobFlags& flags, std::string_view role) {
    if (role == "chief") return flags.chief ? 1 : 0;
    if (role == "evaluator") return flags.evaluator ? 1 : 0;
    return role == "ps" ? flags.ps : flags.submit.workers;
}

// A flag of the role that was given; empty: none.
std::string given_flag(std::string_view role, const RoleFlags& flags) {
    const RoleFlags unset;
    const char* what = !flags.image.empty()                             ? "image"
                       : !flags.cpu.empty()                             ? "cpu"
                       : !flags.cpu_limit.empty()                       ? "cpu-limit"
                       : !flags.memory.empty()                          ? "memory"
                       : !flags.memory_limit.empty()                    ? "memory-limit"
                       : flags.selectors != unset.selectors             ? "selector"
                       : flags.port != unset.port                       ? "port"
                       : flags.affinity_policy != unset.affinity_policy ? "affinity-policy"
                       : flags.affinity_constraint != unset.affinity_constraint
                           ? "affinity-constraint"
                           : "";
    return *what == 0 ? std::string() : fmt::format("--{}-{}", role, what);
}

// Sets the request and the limit of a resource.
Result<> set_amount(PodTemplate& pod, std::string_view role, const std::string& resource,
                    const std::string& amount, const std::string& limit) {
    const std::string flag = fmt::format("--{}-{}", role, resource);
    if (amount.empty() && limit.empty()) return {};
    const auto wanted = parse_milli_quantity(amount.empty() ? limit : amount);
    if (!wanted) return fail(wanted.error().in(amount.empty() ? flag + "-limit" : flag));
    const auto most = parse_milli_quantity(limit.empty() ? amount : limit);
    if (!most) return fail(most.error().in(flag + "-limit"));
    if (*wanted > *most) {
        return refuse(flag,
                      fmt::format("\"{}\" is more than {}-limit \"{}\"", amount, flag, limit));
    }
    pod.limits.insert_or_assign(resource, limit.empty() ? amount : limit);
    if (!amount.empty() && !limit.empty()) pod.requests.insert_or_assign(resource, amount);
    return {};
}

Result<PodTemplate> pod_of_role(const TensorflowJobFlags& flags, const RoleRow& row) {
    const RoleFlags& own = flags.*row.flags;
    SubmitFlags submit = flags.submit;
    if (!own.image.empty()) submit.pod.image = own.image;
    if (row.name == "ps") submit.pod.gpu = {.gpus = flags.ps_gpus};
    TRY(PodTemplate pod, pod_of(submit, TrainingType::tensorflow));
    TRY_VOID(set_amount(pod, row.name, "cpu", own.cpu, own.cpu_limit));
    TRY_VOID(set_amount(pod, row.name, "memory", own.memory, own.memory_limit));
    if (own.selectors.empty()) return pod;
    pod.node_selector.clear();
    for (const std::string& text : own.selectors) {
        TRY(auto pair, parse_pair(fmt::format("--{}-selector", row.name), text));
        pod.node_selector.insert_or_assign(std::move(pair.first), std::move(pair.second));
    }
    return pod;
}

Result<std::optional<RoleAffinity>> affinity_of(std::string_view role, const RoleFlags& flags) {
    const bool is_required = flags.affinity_constraint == "required";
    if (!is_required && flags.affinity_constraint != "preferred") {
        return refuse(
            fmt::format("--{}-affinity-constraint", role),
            fmt::format("\"{}\" is neither preferred nor required", flags.affinity_constraint));
    }
    if (flags.affinity_policy == "none" && is_required) {
        return refuse(fmt::format("--{}-affinity-constraint", role),
                      fmt::format("needs --{}-affinity-policy spread or binpack", role));
    }
    if (flags.affinity_policy == "none") return std::optional<RoleAffinity>();
    const bool is_anti = flags.affinity_policy == "spread";
    if (!is_anti && flags.affinity_policy != "binpack") {
        return refuse(fmt::format("--{}-affinity-policy", role),
                      fmt::format("\"{}\" is not none, spread or binpack", flags.affinity_policy));
    }
    return std::optional(RoleAffinity{.anti = is_anti, .required = is_required});
}

Result<> add_role(Training& job, const TensorflowJobFlags& flags, const RoleRow& row) {
    const RoleFlags& own = flags.*row.flags;
    const int replicas = replicas_of(flags, row.name);
    if (replicas == 0) {
        const std::string given = given_flag(row.name, own);
        if (given.empty()) return {};
        return refuse(given, fmt::format("needs {}", row.needs));
    }
    TRY_VOID(check_number(fmt::format("--{}-port", row.name), own.port, 1, 65'535));
    TRY(PodTemplate pod, pod_of_role(flags, row));
    TRY(const auto affinity, affinity_of(row.name, own));
    job.roles.push_back({.name = std::string(row.name),
                         .replicas = replicas,
                         .pod = std::move(pod),
                         .affinity = affinity});
    return {};
}

// TensorFlow's description of the cluster and of the task in it, in JSON. An evaluator is not part
// of the cluster. Source: TensorFlow's guide "Distributed training with TensorFlow", TF_CONFIG.
std::string tf_config(const TensorflowJobFlags& flags, const Training& job, const Role& own) {
    std::string cluster;
    for (const Role& role : job.roles) {
        if (role.name == "evaluator") continue;
        const auto row = std::ranges::find(kRoles, role.name, &RoleRow::name);
        std::string hosts;
        for (int i = 0; i < role.replicas; ++i) {
            hosts += fmt::format("{}\"{}:{}\"", i == 0 ? "" : ",", host_of(job, role, i),
                                 (flags.*row->flags).port);
        }
        cluster += fmt::format("{}\"{}\":[{}]", cluster.empty() ? "" : ",", role.name, hosts);
    }
    return fmt::format(
        R"({{"cluster":{{{}}},"task":{{"type":"{}","index":{}}},"environment":"cloud"}})", cluster,
        own.name, index_text());
}

// Whether all flags of the job go together.
Result<> check_policies(const TensorflowJobFlags& flags, const Training& job) {
    const bool has_roles = job.roles.size() > 1;
    const bool all_workers = flags.success_policy == "AllWorkers";
    if (!all_workers && flags.success_policy != "ChiefWorker") {
        return refuse(
            "--success-policy",
            fmt::format("\"{}\" is neither ChiefWorker nor AllWorkers", flags.success_policy));
    }
    if (flags.chief && all_workers) {
        return refuse("--success-policy", "AllWorkers cannot be used with --chief, which decides");
    }
    if (!has_roles && job.clean != CleanPolicy::running) {
        return refuse("--clean-task-policy",
                      "needs --chief, --ps or --evaluator: the pods of one role end together");
    }
    if (has_roles && job.roles.front().pod.labels.contains(kKueueQueueLabel)) {
        return refuse("--label",
                      fmt::format("{} cannot be used with --chief, --ps and --evaluator: Kueue "
                                  "would admit their Jobs separately",
                                  kKueueQueueLabel));
    }
    if (has_roles && !flags.submit.queue.empty()) {
        return refuse("--queue",
                      "cannot be used with --chief, --ps and --evaluator: Kueue would admit their "
                      "Jobs separately; leave them out");
    }
    return {};
}

}  // namespace

Result<Training> tensorflow_job(const TensorflowJobFlags& flags) {
    const SubmitFlags& submit = flags.submit;
    TRY(Training job, begin_training(submit, TrainingType::tensorflow));
    TRY_VOID(check_number("--ps", flags.ps, 0, kMostParameterServers));
    if (flags.ps == 0 && flags.ps_gpus != 0) return refuse("--ps-gpus", "needs --ps");
    const auto clean = parse_clean_policy(flags.clean_task_policy);
    if (!clean) {
        return refuse("--clean-task-policy",
                      fmt::format("\"{}\" is not Running, None or All", flags.clean_task_policy));
    }
    job.clean = *clean;
    for (const RoleRow& row : kRoles)
        TRY_VOID(add_role(job, flags, row));
    TRY_VOID(check_policies(flags, job));
    Role& first = job.roles.front();
    first.first_decides =
        !flags.chief && flags.success_policy != "AllWorkers" && first.replicas > 1;
    if (job.roles.size() > 1 || first.replicas > 1) {
        connect(job);
        for (Role& role : job.roles)
            add_variable(role.pod, "TF_CONFIG", tf_config(flags, job, role));
    }
    // TensorFlow otherwise takes all the memory of its GPU at the start.
    for (Role& role : job.roles) {
        if (role.pod.gpus.is_share()) add_variable(role.pod, "TF_FORCE_GPU_ALLOW_GROWTH", "true");
    }
    return finished(std::move(job), submit);
}

}  // namespace tessera::workload
