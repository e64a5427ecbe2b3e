// tensorboard: opens the TensorBoard of a training job on a port of this machine.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "adapters/workload/kube_port_forward.hpp"
#include "adapters/workload/kube_trainings.hpp"
#include "app/workload/tensorboard_text.hpp"
#include "domain/training/tensorboard.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/train/job_options.hpp"
#include "programs/tessera/workload/flag_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;

// How often to look whether the job is still there, and whether TensorBoard runs.
constexpr std::chrono::milliseconds kWatch{3'000};
constexpr std::chrono::milliseconds kPoll{1'000};

struct TensorboardOptions {
    JobOptions jobs;
    std::string name;
    int port = workload::kTensorboardPort;
};

// The present state of the job. not_found if it was deleted, also if there is another one of its
// name.
Result<TrainingStatus> current(HttpClient& api, const TrainingStatus& job) {
    TRY(auto jobs, KubeTrainings(api).list(job.ns, job.name));
    if (!jobs.empty() && jobs.front().uid() == job.uid()) return std::move(jobs.front());
    return fail(Code::not_found, fmt::format("the job {} was deleted", job.name));
}

Result<PodName> running_pod(HttpClient& api, const TrainingStatus& job) {
    TRY(const TrainingStatus now, current(api, job));
    const std::string why = tensorboard_why(now);
    if (why.empty()) return PodName{job.ns, now.tensorboard->name};
    return fail(Code::unavailable, "TensorBoard does not run: " + why);
}

// Prints each reason once.
Result<> wait_until_it_runs(HttpClient& api, const TrainingStatus& job) {
    std::string reported;
    while (true) {
        TRY(const TrainingStatus now, current(api, job));
        const std::string why = tensorboard_why(now);
        if (why.empty()) return {};
        if (why != reported) warn("TensorBoard does not run yet: " + why);
        reported = why;
        std::this_thread::sleep_for(kPoll);
    }
}

Result<int> open_tensorboard(const TensorboardOptions& options) {
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    TRY(const TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
    if (!job.has_tensorboard) {
        return fail(Code::not_found,
                    fmt::format("the job {} has no TensorBoard; submit it with --tensorboard and "
                                "--logdir",
                                job.name));
    }
    auto opened =
        PortForward::open(api, options.port, workload::kTensorboardPort,
                          {.find_pod = [&] { return running_pod(api, job); }, .warn = warn});
    if (!opened) {
        return fail(opened.error().code,
                    fmt::format("--port: choose another one, or 0 for any free one: {}",
                                opened.error().text));
    }
    TRY_VOID(wait_until_it_runs(api, job));
    say(fmt::format("TensorBoard of the job {}: http://127.0.0.1:{} (end with Ctrl-C)", job.name,
                    (*opened)->port()));
    while (true) {
        (*opened)->serve_for(kWatch);
        const auto now = current(api, job);
        if (now || now.error().code != Code::not_found) continue;  // an outage may pass
        say(fmt::format("The job {} is deleted", job.name));
        return 0;
    }
}

}  // namespace

CommandRow tensorboard_command() {
    return {.name = "tensorboard",
            .summary = "Open the TensorBoard of a training job on a port of this machine",
            .example = "tessera tensorboard train",
            .options = options_and_run<TensorboardOptions>(
                [](CLI::App& command, TensorboardOptions& options) {
                    command.add_option("name", options.name, "the job")->required();
                    add_port(command, "--port", options.port,
                             "port of 127.0.0.1; 0: any free one, which is printed");
                    options.jobs.add_to(command);
                },
                open_tensorboard)};
}

}  // namespace tessera
