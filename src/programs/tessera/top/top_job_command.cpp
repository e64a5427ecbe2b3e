#include <iostream>

#include "adapters/workload/kube_trainings.hpp"
#include "app/top/job_text.hpp"
#include "app/workload/training_text.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/shares_reader.hpp"
#include "programs/tessera/top/refreshed.hpp"
#include "programs/tessera/top/top_commands.hpp"
#include "programs/tessera/train/job_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;

struct TopJobOptions {
    JobOptions jobs;
    InstallNamespace install;
    std::string name;
    std::string instance;
    bool all = false;  // namespaces
    bool refresh = false;
};

Result<> check(const TopJobOptions& options) {
    TRY_VOID(options.install.check());
    if (options.refresh && options.name.empty())
        return fail(Code::invalid_argument, "--refresh shows one job again and again: name it");
    if (options.refresh && is_object(options.jobs.output))
        return fail(Code::invalid_argument, "--refresh is for text; leave out --output");
    if (!options.instance.empty() && options.name.empty())
        return fail(Code::invalid_argument, "--instance is a pod of one job: name the job, too");
    return {};
}

// The nodes for the sizes of GPUs; none, with a warning, if they cannot be listed.
std::vector<NodeInventory> nodes_or_warning(KubeTrainings& cluster) {
    auto nodes = cluster.nodes();
    if (nodes) return *std::move(nodes);
    warn("the sizes of the GPUs are unknown, and shares count as 0 GPUs: " + nodes.error().text);
    return {};
}

Result<> show_all(KubeTrainings& cluster, const KubeConnection& connection,
                  const TopJobOptions& options) {
    TRY(const auto jobs, jobs_of(cluster, connection, options.jobs, options.all));
    const auto nodes = nodes_or_warning(cluster);
    print_jobs(jobs, view_of(nodes), connection, options.jobs, options.all, job_table);
    return {};
}

Result<> show_one(HttpClient& api, KubeTrainings& cluster, const KubeConnection& connection,
                  const TopJobOptions& options) {
    TRY(TrainingStatus job, job_of(cluster, connection, options.jobs, options.name));
    if (!options.instance.empty()) {
        std::erase_if(job.pods, [&](const workload::TrainingPod& one) {
            return one.pod.name != options.instance;
        });
        if (job.pods.empty()) {
            return fail(Code::not_found, "the job " + options.name + " has no pod " +
                                             options.instance + "; see tessera get " +
                                             options.name);
        }
    }
    const auto nodes = nodes_or_warning(cluster);
    const WorkloadView view = view_of(nodes);
    if (is_object(options.jobs.output)) {
        print_json(training_json(job, view), options.jobs.output);
        return {};
    }
    const Shares shares = read_shares_of(api, options.install.ns, nodes_of(job, nodes));
    std::cout << job_details(job, view, shares.lines);
    print_silent(shares);
    return {};
}

Result<int> run(const TopJobOptions& options) {
    TRY_VOID(check(options));
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    return shown_once_or_refreshed(options.refresh, [&]() -> Result<> {
        if (options.name.empty()) return show_all(cluster, connection, options);
        return show_one(api, cluster, connection, options);
    });
}

void add_options(CLI::App& command, TopJobOptions& options) {
    command.add_option("name", options.name, "only this job, with the GPUs of each pod");
    command.add_option("-i,--instance", options.instance, "only this pod of the job");
    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all, "of all namespaces");
    command.add_flag("-r,--refresh", options.refresh,
                     "show one job again every 2 seconds, until Ctrl-C");
    options.install.add_to(command);
    options.jobs.add_to(command);
    add_output(command, options.jobs.output, {"json", "yaml", "wide"});
}

}  // namespace

CommandRow top_job_command() {
    return {.name = "job",
            .summary = "Show the GPUs of training jobs",
            .example = "tessera top job",
            .options = options_and_run<TopJobOptions>(add_options, run),
            .aliases = {"jobs"}};
}

}  // namespace tessera
