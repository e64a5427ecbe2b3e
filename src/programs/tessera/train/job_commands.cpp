// logs, attach and delete: training jobs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "adapters/workload/kube_pod_logs.hpp"
#include "adapters/workload/kube_trainings.hpp"
#include "app/workload/submit.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/train/job_options.hpp"
#include "programs/tessera/workload/attach_options.hpp"
#include "programs/tessera/workload/log_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;

struct LogsOptions {
    JobOptions jobs;
    std::string name;
    LogOptions logs;
};

// Waits until the init container, whose log is over, has let the others start. False if it failed,
// or if the job is gone.
Result<bool> has_started(Trainings& cluster, const TrainingStatus& job, const std::string& pod) {
    constexpr std::chrono::milliseconds kPoll{500};
    while (true) {
        TRY(const auto jobs, cluster.list(job.ns, job.name));
        if (jobs.empty() || jobs.front().uid() != job.uid()) return false;
        const auto& pods = jobs.front().pods;
        const auto one = std::ranges::find(
            pods, pod, [](const workload::TrainingPod& each) -> auto& { return each.pod.name; });
        if (one == pods.end()) return false;
        if (one->pod.init.empty() && one->pod.phase != "Pending") return true;
        if (one->pod.phase == "Failed") return false;
        std::this_thread::sleep_for(kPoll);
    }
}

// While an init container runs, or after it failed, its log says why the program does not run.
Result<int> logs(const LogsOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    TRY(const TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
    TRY(const workload::TrainingPod one, pod_for_logs(job, options.logs.instance));
    const std::string_view container = job.container();
    const PodName pod{job.ns, one.pod.name};
    if (!one.pod.init.empty() && options.logs.log.container.empty()) {
        warn(fmt::format("this is the log of container {}, before {} starts", one.pod.init,
                         container));
        TRY_VOID(print_log(api, pod, one.pod.init, one.pod.why, options.logs));
        if (!options.logs.log.follow) return 0;
        TRY(const bool goes_on, has_started(cluster, job, one.pod.name));
        if (!goes_on) return 0;
    }
    TRY_VOID(print_log(api, pod, container, one.pod.why, options.logs));
    return 0;
}

struct AttachJobOptions {
    JobOptions jobs;
    std::string name;
    AttachOptions attach;
};

Result<int> attach_to_job(const AttachJobOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    TRY(const TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
    TRY(const workload::TrainingPod one, pod_for_command(job, options.attach.instance));
    return attach(api, job.ns, one.pod, job.container(), options.attach);
}

struct DeleteOptions {
    JobOptions jobs;
    std::vector<std::string> names;
};

Result<int> remove(const DeleteOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    int status = 0;
    for (const std::string& name : options.names) {
        const auto job = job_of(cluster, connection, options.jobs, name);
        const auto done = job ? cluster.remove(*job) : Result<>(fail(job.error()));
        if (done) {
            say(fmt::format("The job {} is deleted", name));
        } else {
            status = print_error("tessera", done.error());
        }
    }
    return status;
}

}  // namespace

CommandRow logs_command() {
    return {.name = "logs",
            .summary = "Show the log of a training job: of the pod that failed, or of the chief",
            .example = "tessera logs train -f",
            .options = options_and_run<LogsOptions>(
                [](CLI::App& command, LogsOptions& options) {
                    command.add_option("name", options.name, "the job")->required();
                    options.jobs.add_to(command);
                    options.logs.add_to(command);
                },
                logs),
            .aliases = {"log"}};
}

CommandRow attach_command() {
    return {.name = "attach",
            .summary = "Run a command, or a shell, in a pod of a training job: in the chief",
            .example = "tessera attach train -- nvidia-smi",
            .options = options_and_run<AttachJobOptions>(
                [](CLI::App& command, AttachJobOptions& options) {
                    command.add_option("name", options.name, "the job")->required();
                    options.jobs.add_to(command);
                    options.attach.add_to(command);
                },
                attach_to_job)};
}

CommandRow delete_command() {
    return {.name = "delete",
            .summary = "Delete training jobs with all that belongs to them",
            .example = "tessera delete train",
            .options = options_and_run<DeleteOptions>(
                [](CLI::App& command, DeleteOptions& options) {
                    command.add_option("names", options.names, "the jobs")->required();
                    options.jobs.add_to(command);
                },
                remove),
            .aliases = {"del"}};
}

}  // namespace tessera
