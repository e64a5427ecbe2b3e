// submit tf, pytorch, mpi and job.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "adapters/workload/kube_trainings.hpp"
#include "app/workload/progress.hpp"
#include "app/workload/submit.hpp"
#include "domain/training/submit_flags.hpp"
#include "programs/common/command_line.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/train/mpi_shell.hpp"
#include "programs/tessera/workload/flag_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "wire/workload/tensorboard_json.hpp"
#include "wire/workload/training_json.hpp"

namespace tessera {
namespace {

using workload::Training;
using workload::TrainingState;
using workload::TrainingType;

void add_sync_flags(CLI::App& command, workload::SyncFlags& flags) {
    add_flag_value(command, "--sync-mode", flags.mode,
                   "git: copies the code of --sync-source to WORKING-DIR/code/REPOSITORY");
    add_flag_value(command, "--sync-source", flags.source,
                   "URL of the git repository, without credentials");
    add_flag_value(command, "--sync-branch", flags.branch, "its branch; by default its own");
    add_flag_value(command, "--sync-revision", flags.revision,
                   "its tag or commit, in place of a branch");
    add_flag_value(command, "--sync-secret", flags.secret,
                   "Secret with username and password for https, or ssh and known_hosts for ssh");
    add_flag_value(command, "--sync-image", flags.image, "image of git-sync");
}

void add_tensorboard_flags(CLI::App& command, workload::TensorboardFlags& flags) {
    command.add_flag("--tensorboard", flags.wanted,
                     "run TensorBoard beside the job; open it with tessera tensorboard");
    add_flag_value(command, "--tensorboard-image", flags.image, "image of TensorBoard");
    add_flag_value(command, "--logdir", flags.logdir,
                   "folder of its logs, on a volume of --data or --data-dir; by default "
                   "/training_logs");
}

void add_submit_flags(CLI::App& command, workload::SubmitFlags& flags, CreateOptions& options) {
    // Programs exchange data through shared memory, and the runtime's default is 64 MiB.
    flags.pod.share_memory = "2Gi";
    last(command.add_option("--name", flags.name, "name of the job"))->required();
    add_flag_value(command, "-n,--namespace", flags.ns, "namespace of the job");
    add_number(command, "--retry", flags.retry, 1'000, "pods that may fail before the job fails");
    add_flag_value(
        command, "--working-dir", flags.working_dir,
        "folder of the command; by default that of the image, or /root with --sync-mode");
    add_flag_value(command, "-p,--priority", flags.priority, "PriorityClass of the pods");
    command.add_flag("--gang", flags.gang, "place all pods together or not at all");
    add_default(command, "--backend", flags.backend,
                "job; trainjob: a TrainJob of Kubeflow Trainer runs the pods");
    add_flag_value(command, "--queue", flags.queue, "LocalQueue of Kueue that admits the job");
    add_flag_value(command, "--scheduler", flags.scheduler, "scheduler of the pods");
    command.add_flag("--rdma", flags.rdma,
                     "request one rdma/hca, and allow the pods to lock their memory");
    command.add_flag("--host-network,--hostNetwork", flags.host.network,
                     "use the network of the node");
    command.add_flag("--host-ipc,--hostIPC", flags.host.ipc,
                     "use the inter-process communication of the node");
    command.add_flag("--host-pid,--hostPID", flags.host.pid, "see the processes of the node");
    add_flag_value(command, "--running-timeout", flags.running_timeout,
                   "time after which the job fails, such as 90s, 30m or 1h30m");
    add_flag_value(command, "--ttl-after-finished", flags.ttl_after_finished,
                   "time after the job's end when it is deleted, such as 24h");
    add_sync_flags(command, flags.sync);
    add_tensorboard_flags(command, flags.tensorboard);
    add_pod_options(command, flags.pod, options);
    options.wait.add_to(command, "its pods run");
    add_words(command, flags.words, "command line of the pods");
}

void add_workers(CLI::App& command, workload::SubmitFlags& flags, const char* help) {
    add_number(command, "--workers", flags.workers, 1'000, help);
}

// The flags of one role of TensorFlow, such as --ps-image.
void add_role(CLI::App& command, const std::string& role, workload::RoleFlags& flags) {
    const auto name = [&](const char* what) { return fmt::format("--{}-{}", role, what); };
    const std::string of = role == "ps" ? "parameter servers" : role;
    const auto add = [&](const char* what, std::string& out, const char* help) {
        add_flag_value(command, name(what).c_str(), out,
                       fmt::format(fmt::runtime(help), of).c_str());
    };
    add("image", flags.image, "image of the {}, in place of --image");
    add("cpu", flags.cpu, "CPUs that the {} requests; without a limit also the limit");
    add("cpu-limit", flags.cpu_limit, "CPU limit of the {}");
    add("memory", flags.memory, "memory that the {} requests; without a limit also the limit");
    add("memory-limit", flags.memory_limit, "memory limit of the {}");
    add_list(command, name("selector").c_str(), flags.selectors,
             "label of the nodes to use, as KEY=VALUE, in place of those of --selector");
    if (role != "evaluator")
        add_port(command, name("port").c_str(), flags.port, "port of the pods");
    if (role != "worker" && role != "ps") return;
    add_default(command, name("affinity-policy").c_str(), flags.affinity_policy,
                "none; spread: each pod on a node of its own; binpack: all on one node");
    add_default(command, name("affinity-constraint").c_str(), flags.affinity_constraint,
                "of the policy; preferred: if possible; required: or else a pod waits");
}

void add_tensorflow(CLI::App& command, workload::TensorflowJobFlags& flags) {
    add_workers(command, flags.submit, "number of workers");
    add_number(command, "--ps", flags.ps, 1'000, "number of parameter servers");
    add_number(command, "--ps-gpus", flags.ps_gpus, 16,
               "whole GPUs of each parameter server, which has no share");
    command.add_flag("--chief", flags.chief, "one more pod, which is the chief");
    command.add_flag("--evaluator", flags.evaluator, "one more pod, which evaluates checkpoints");
    add_role(command, "worker", flags.worker_role);
    add_role(command, "ps", flags.ps_role);
    add_role(command, "chief", flags.chief_role);
    add_role(command, "evaluator", flags.evaluator_role);
    add_default(command, "--success-policy", flags.success_policy,
                "ChiefWorker: the chief, or else the first worker, decides; AllWorkers: all");
    add_default(command, "--clean-task-policy", flags.clean_task_policy,
                "what happens to the other pods at the end; Running: those that run are ended; "
                "None: they go on; All: the Jobs of the other roles are deleted");
}

void add_pytorch(CLI::App& command, workload::PytorchJobFlags& flags) {
    add_workers(command, flags.submit, "number of pods, of which the first is the master");
    add_default(command, "--nproc-per-node", flags.nproc_per_node,
                "processes that torchrun starts in each pod");
    add_port(command, "--master-port", flags.port, "port of the master");
}

void add_plain(CLI::App& command, workload::SubmitFlags& flags) {
    add_workers(command, flags, "number of pods; each has its number in JOB_COMPLETION_INDEX");
}

workload::SubmitFlags& submit_of(workload::TensorflowJobFlags& flags) {
    return flags.submit;
}
workload::SubmitFlags& submit_of(workload::PytorchJobFlags& flags) {
    return flags.submit;
}
workload::SubmitFlags& submit_of(workload::MpiJobFlags& flags) {
    return flags.submit;
}
workload::SubmitFlags& submit_of(workload::SubmitFlags& flags) {
    return flags;
}

std::vector<std::string> objects_of(const Training& job) {
    std::vector<std::string> objects;
    objects.reserve(job.roles.size() + 5);
    if (job.backend == workload::Backend::train_job) {
        objects.push_back(workload::write_training_runtime(job));
        objects.push_back(workload::write_train_job(job, ""));
    } else {
        for (const workload::Role& role : job.roles)
            objects.push_back(workload::write_training_role(job, role, ""));
    }
    if (!job.roles.front().pod.files.empty())
        objects.push_back(workload::write_training_files(job, ""));
    if (!job.shell_secret.empty()) objects.push_back(workload::write_training_secret(job, ""));
    if (job.has_service) objects.push_back(workload::write_training_service(job, ""));
    if (job.tensorboard) {
        objects.push_back(workload::write_tensorboard_deployment(job, ""));
        objects.push_back(workload::write_tensorboard_service(job, ""));
    }
    return objects;
}

Result<int> submit(const Training& job, const CreateOptions& options,
                   const KubeConnection& connection) {
    if (options.dry_run) {
        print_objects(objects_of(job), options.output);
        return 0;
    }
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    TRY_VOID(create_training(cluster, job, say, warn));
    say(fmt::format("The job {0} is submitted. See how it runs: tessera get {0} -n {1}", job.name,
                    job.ns));
    return wait_until_done(options.wait, [&]() -> Result<Waiting> {
        TRY(const auto now, find_training(cluster, job.ns, job.name, job.type));
        const TrainingState state = state_of(now);
        return Waiting{
            .progress = progress_of(now, false),
            .is_done = state == TrainingState::running || state == TrainingState::succeeded,
            .has_failed = state == TrainingState::failed};
    });
}

// The flags of a kind of jobs, bound to its command.
template <class Flags>
struct Bound {
    Flags flags;
    CreateOptions options;
};

template <class Flags>
CommandRow submit_row(TrainingType type, std::string_view summary, std::string_view example,
                      void (*add)(CLI::App&, Flags&), Result<Training> (*make)(const Flags&)) {
    CommandRow row{.name = row_of(type).command, .summary = summary, .example = example};
    if (!row_of(type).alias.empty()) row.aliases.emplace_back(row_of(type).alias);
    row.options = [=](CLI::App& command) -> CommandRun {
        auto bound = std::make_shared<Bound<Flags>>();
        add_submit_flags(command, submit_of(bound->flags), bound->options);
        add(command, bound->flags);
        return [=, &command]() -> Result<int> {
            workload::SubmitFlags& flags = submit_of(bound->flags);
            TRY_VOID(bound->options.wait.check());
            TRY(flags.pod.files, read_config_files(bound->options.config_files));
            TRY(Training job, make(bound->flags));
            TRY(job.arguments,
                recorded_arguments(command, {"submit", std::string(row_of(type).command)}));
            TRY(const KubeConnection connection, connection_for(bound->options));
            TRY(job.ns, checked_namespace(flags.ns, connection));
            TRY_VOID(complete_shell(job, connection));
            return submit(job, bound->options, connection);
        };
    };
    return row;
}

}  // namespace

CommandRow submit_command() {
    return {
        .name = "submit",
        .summary = "Submit a training job",
        .example =
            "tessera submit pytorch --name train --image pytorch/pytorch:latest "
            "--gpumemory 8 -- python train.py",
        .commands = {
            submit_row(TrainingType::tensorflow, "Train with TensorFlow",
                       "tessera submit tf --name mnist --image tensorflow/tensorflow:latest-gpu "
                       "--workers 2 --gpumemory 4 -- python train.py",
                       add_tensorflow, workload::tensorflow_job),
            submit_row(TrainingType::pytorch, "Train with PyTorch",
                       "tessera submit pytorch --name train --image pytorch/pytorch:latest "
                       "--workers 2 --gpumemory 8 -- torchrun train.py",
                       add_pytorch, workload::pytorch_job),
            submit_row(TrainingType::mpi, "Run MPI programs, such as those of Horovod",
                       "tessera submit mpi --name ring --image registry.example.com/horovod:1 "
                       "--workers 2 --gpumemory 4 -- mpirun python train.py",
                       add_mpi, workload::mpi_job),
            submit_row(TrainingType::job, "Run pods that do not work together",
                       "tessera submit job --name sweep --image registry.example.com/sweep:1 "
                       "--workers 10 --gpumemory 2 -- python sweep.py",
                       add_plain, workload::plain_job),
        }};
}

}  // namespace tessera
