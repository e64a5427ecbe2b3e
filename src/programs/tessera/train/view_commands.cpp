// list and get: training jobs.
#include <iostream>
#include <set>

#include "adapters/workload/kube_object_events.hpp"
#include "adapters/workload/kube_trainings.hpp"
#include "app/top/job_text.hpp"
#include "app/workload/training_text.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/shares_reader.hpp"
#include "programs/tessera/train/job_options.hpp"
#include "programs/tessera/workload/view_output.hpp"
#include "programs/tessera/workload/watched.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;

struct ListOptions {
    JobOptions jobs;
    bool all = false;  // namespaces
    bool watch = false;
};

Result<int> list(const ListOptions& options) {
    TRY_VOID(check_watch(options.watch, options.jobs.output));
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    if (!options.watch) {
        TRY(const auto jobs, jobs_of(cluster, connection, options.jobs, options.all));
        print_jobs(jobs, view_of(nodes), connection, options.jobs, options.all, training_table);
        return 0;
    }
    return watch([&]() -> Result<Frame> {
        TRY(const auto jobs, jobs_of(cluster, connection, options.jobs, options.all));
        Frame frame{.text = training_table(jobs, view_of(nodes), options.all), .lines = {}};
        frame.lines.reserve(jobs.size());
        for (const TrainingStatus& job : jobs)
            frame.lines.push_back(progress_of(job, options.all));
        return frame;
    });
}

struct GetOptions {
    JobOptions jobs;
    InstallNamespace install;
    std::string name;
    bool events = false;
    bool gpus = false;
    bool watch = false;
};

// Of the job's objects and pods.
Result<std::vector<workload::ObjectEvent>> events_of(HttpClient& api, const TrainingStatus& job) {
    std::set<std::string> uids;
    for (const workload::RoleStatus& role : job.roles)
        uids.insert(role.uid);
    uids.insert({job.runtime_uid, job.train_job_uid});
    for (const workload::TrainingPod& one : job.pods)
        uids.insert(one.pod.uid.str());
    uids.erase("");
    return read_object_events(api, job.ns, uids);
}

// The job as text or JSON.
Result<std::string> shown(HttpClient& api, const TrainingStatus& job, const GetOptions& options,
                          const std::vector<NodeInventory>& nodes) {
    WorkloadView view = view_of(nodes);
    std::vector<workload::ObjectEvent> events;
    if (options.events) {
        TRY(events, events_of(api, job));
        view.events = &events;
    }
    if (is_object(options.jobs.output)) return training_json(job, view);
    std::string text = training_text(job, view);
    if (options.gpus) {
        const Shares shares = read_shares_of(api, options.install.ns, nodes_of(job, nodes));
        text += job_gpus(job, view, shares.lines);
        if (!options.watch) print_silent(shares);
    }
    return text;
}

Result<int> get(const GetOptions& options) {
    TRY_VOID(options.install.check());
    TRY_VOID(check_watch(options.watch, options.jobs.output));
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    const auto nodes = cluster.nodes().value_or(std::vector<NodeInventory>{});
    if (!options.watch) {
        TRY(const TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
        TRY(const std::string text, shown(api, job, options, nodes));
        if (is_object(options.jobs.output)) {
            print_json(text, options.jobs.output);
        } else {
            std::cout << text;
        }
        return 0;
    }
    return watch([&]() -> Result<Frame> {
        TRY(const TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
        Frame frame{.text = {}, .lines = {progress_of(job, false)}, .is_over = has_ended(job)};
        TRY(frame.text, shown(api, job, options, nodes));
        return frame;
    });
}

}  // namespace

CommandRow list_command() {
    return {.name = "list",
            .summary = "List training jobs",
            .example = "tessera list",
            .options = options_and_run<ListOptions>(
                [](CLI::App& command, ListOptions& options) {
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all,
                                     "of all namespaces");
                    add_watch(command, options.watch);
                    options.jobs.add_to(command);
                    add_output(command, options.jobs.output, {"json", "yaml", "wide"});
                },
                list),
            .aliases = {"ls"}};
}

CommandRow get_command() {
    return {.name = "get",
            .summary = "Show a training job, its pods, and why they wait or have failed",
            .example = "tessera get train",
            .options = options_and_run<GetOptions>(
                [](CLI::App& command, GetOptions& options) {
                    command.add_option("name", options.name, "the job")->required();
                    command.add_flag("-e,--events", options.events,
                                     "with the events of the job and its pods");
                    command.add_flag("-g,--gpus", options.gpus,
                                     "with the GPUs of its pods, and how they are used");
                    add_watch(command, options.watch);
                    options.install.add_to(command);
                    options.jobs.add_to(command);
                    add_output(command, options.jobs.output, {"json", "yaml", "wide"});
                },
                get)};
}

}  // namespace tessera
