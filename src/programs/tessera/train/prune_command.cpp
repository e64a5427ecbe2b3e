#include <fmt/format.h>

#include <iostream>

#include "adapters/workload/kube_trainings.hpp"
#include "app/workload/prune.hpp"
#include "app/workload/view_text.hpp"
#include "domain/training/submit_flags.hpp"
#include "programs/tessera/commands.hpp"
#include "programs/tessera/train/job_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {
namespace {

using workload::TrainingStatus;

struct PruneOptions {
    JobOptions jobs;
    std::string since;
    bool all = false;  // namespaces
    bool pending = false;
    bool dry_run = false;
};

Result<int> run(const PruneOptions& options) {
    PruneRule rule{.with_pending = options.pending};
    TRY(rule.since_s, workload::parse_duration("--since", options.since));
    TRY(const KubeConnection connection, connect_info(options.jobs.kube));
    HttpClient api(connection.endpoint);
    KubeTrainings cluster(api);
    TRY(auto jobs, jobs_of(cluster, connection, options.jobs, options.all));
    const std::int64_t now_s = view_of({}).now_s;
    const auto old = jobs_to_prune(std::move(jobs), rule, now_s);
    if (old.empty()) say("No job needs to be deleted");
    int status = 0;
    for (const TrainingStatus& job : old) {
        const auto done = options.dry_run ? Result<>() : cluster.remove(job);
        if (done) {
            say(fmt::format("The job {} in namespace {} {} deleted ({} for {})", job.name, job.ns,
                            options.dry_run ? "would be" : "is", words_of(state_of(job)),
                            age_text(age_for_prune(job, now_s))));
        } else {
            status = print_error("tessera", done.error());
        }
    }
    return status;
}

}  // namespace

CommandRow prune_command() {
    return {"prune", "Delete training jobs that ended long ago", "tessera prune --since 48h",
            options_and_run<PruneOptions>(
                [](CLI::App& command, PruneOptions& options) {
                    command
                        .add_option("--since", options.since,
                                    "only jobs that ended at least this long ago, such as 10h")
                        ->required();
                    command.add_flag("-A,--all-namespaces,--allNamespaces", options.all,
                                     "of all namespaces");
                    command.add_flag("--pending", options.pending,
                                     "also jobs that have waited this long and not begun");
                    command.add_flag("--dry-run", options.dry_run,
                                     "show what would be deleted, and delete nothing");
                    options.jobs.add_to(command);
                },
                run)};
}

}  // namespace tessera
