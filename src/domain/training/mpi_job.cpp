// `tessera submit mpi`: workers that wait for commands, and a launcher, in which mpirun starts
// programs in them by tessera-mpi-shell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "domain/training/mpi_paths.hpp"
#include "domain/training/submit_common.hpp"
#include "domain/training/submit_flags.hpp"
#include "domain/workload/refuse_flag.hpp"

namespace tessera::workload {
namespace {

constexpr int kMostSlots = 1'024;

struct MpiVariable {
    std::string_view name;
    std::string_view value;
};

// What mpirun reads on the launcher. Sources: Open MPI 4.1's mpirun(1) and orte_hosts(7), PRRTE's
// registration of its parameters, MPICH's page "Using the Hydra Process Manager", and Intel's
// "Hydra Environment Variables". An implementation ignores the names of the others.
constexpr auto kVariables = std::to_array<MpiVariable>({
    // Open MPI up to 4. Hosts are looked up by their complete names.
    {"OMPI_MCA_plm_rsh_agent", kShellAgent},
    {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
    {"OMPI_MCA_orte_default_hostfile", kOpenMpiHosts},
    {"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
    // Pods on one node would bind their processes to the same cores.
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    // Containers often run as root.
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    // Open MPI from 5.
    {"PRTE_MCA_plm_ssh_agent", kShellAgent},
    {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
    {"PRTE_MCA_prte_default_hostfile", kOpenMpiHosts},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    // MPICH. Workers reach the launcher by its address: they cannot look up its short name.
    {"HYDRA_LAUNCHER_EXEC", kShellAgent},
    {"HYDRA_HOST_FILE", kHydraHosts},
    {"HYDRA_IFACE", "eth0"},
    // Intel MPI.
    {"I_MPI_HYDRA_BOOTSTRAP", "ssh"},
    {"I_MPI_HYDRA_BOOTSTRAP_EXEC", kShellAgent},
    {"I_MPI_HYDRA_HOST_FILE", kHydraHosts},
    {"I_MPI_HYDRA_IFACE", "eth0"},
});

// The launcher has neither GPUs nor other devices.
Result<Role> launcher_of(const MpiJobFlags& flags) {
    SubmitFlags submit = flags.submit;
    submit.pod.gpu = {};
    submit.pod.devices.clear();
    submit.rdma = false;
    TRY_VOID(check_quantity("--launcher-cpu", flags.launcher_cpu));
    TRY_VOID(check_quantity("--launcher-memory", flags.launcher_memory));
    submit.pod.cpu = flags.launcher_cpu;
    submit.pod.memory = flags.launcher_memory;
    if (!flags.mounts_on_launcher) {
        submit.pod.data.clear();
        submit.pod.data_subpath_expr.clear();
        submit.pod.data_dir.clear();
    }
    TRY(PodTemplate pod, pod_of(submit, TrainingType::mpi));
    std::vector<std::string> command = {std::string(kShellProgram), "launch", "--"};
    command.insert(command.end(), pod.command.begin(), pod.command.end());
    pod.command = std::move(command);
    for (const MpiVariable& variable : kVariables)
        add_variable(pod, std::string(variable.name), std::string(variable.value));
    return Role{.name = "launcher", .replicas = 1, .pod = std::move(pod)};
}

// How many processes a worker takes: one for each whole GPU.
int slots_of(const MpiJobFlags& flags, const PodTemplate& worker) {
    return flags.slots_per_worker > 0 ? flags.slots_per_worker : std::max(worker.gpus.whole, 1);
}

// All pods have the same files. The user's own keep their places, of which the name depends.
void add_hosts(const Role& workers, int slots, Training& job) {
    std::string open_mpi;
    std::string hydra;
    for (int i = 0; i < workers.replicas; ++i) {
        const std::string host = host_of(job, workers, i);
        open_mpi += fmt::format("{} slots={}\n", host, slots);
        hydra += fmt::format("{}:{}\n", host, slots);
    }
    for (Role& role : job.roles) {
        role.pod.files.push_back({std::string(kOpenMpiHosts), open_mpi});
        role.pod.files.push_back({std::string(kHydraHosts), hydra});
    }
}

Result<> check_flags(const MpiJobFlags& flags, const Training& job) {
    const SubmitFlags& submit = flags.submit;
    TRY_VOID(check_number("--slots-per-worker", flags.slots_per_worker, 0, kMostSlots));
    if (!submit.queue.empty()) {
        return refuse("--queue",
                      "cannot be used with mpi: Kueue would admit the launcher and the workers "
                      "separately; leave it out");
    }
    if (job.roles.front().pod.labels.contains(kKueueQueueLabel)) {
        return refuse("--label",
                      fmt::format("{} cannot be used with mpi: Kueue would admit the launcher and "
                                  "the workers separately; leave it out",
                                  kKueueQueueLabel));
    }
    if (submit.tensorboard.wanted && !flags.mounts_on_launcher) {
        return refuse("--tensorboard",
                      "needs --mounts-on-launcher: TensorBoard runs beside the launcher, with its "
                      "volumes");
    }
    return {};
}

}  // namespace

std::string shell_secret_name(std::string_view job) {
    return fmt::format("{}-mpi", job);
}

Result<Training> mpi_job(const MpiJobFlags& flags) {
    SubmitFlags submit = flags.submit;
    TRY(Training job, begin_training(submit, TrainingType::mpi));
    const auto clean = parse_clean_policy(flags.clean_task_policy);
    if (!clean) {
        return refuse("--clean-task-policy",
                      fmt::format("\"{}\" is not Running, None or All", flags.clean_task_policy));
    }
    job.clean = *clean;
    TRY(Role launcher, launcher_of(flags));
    Role workers{.name = "worker", .replicas = submit.workers, .pod = {}};
    TRY(workers.pod, pod_of(submit, TrainingType::mpi));
    workers.pod.command = {std::string(kShellProgram), "serve"};
    // kube-scheduler places pods with the same port of the node on different nodes.
    if (submit.host.network)
        workers.pod.ports.push_back({.name = "mpi-shell", .number = kShellPort});
    const int slots = slots_of(flags, workers.pod);
    job.roles = {std::move(launcher), std::move(workers)};
    TRY_VOID(check_flags(flags, job));
    connect(job);
    add_hosts(job.roles[1], slots, job);
    for (Role& role : job.roles) {
        role.pod.shell =
            MpiShell{.image = flags.shell_image, .secret = shell_secret_name(job.name)};
    }
    // mpirun needs all workers, so some of them would only keep their GPUs from others.
    submit.gang |= job.roles[1].pod.gpus != Gpus{} && submit.workers > 1;
    return finished(std::move(job), submit);
}

}  // namespace tessera::workload
