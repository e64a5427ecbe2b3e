#include "programs/tessera/train/job_options.hpp"

#include <fmt/format.h>

#include <iostream>

#include "app/workload/submit.hpp"
#include "app/workload/training_text.hpp"
#include "base/dns_name.hpp"
#include "programs/tessera/common_options.hpp"
#include "programs/tessera/workload/pod_options.hpp"
#include "programs/tessera/workload/view_output.hpp"

namespace tessera {

using workload::TrainingStatus;
using workload::TrainingType;

namespace {

Result<> check_name(const std::string& name) {
    if (is_dns_label(name)) return {};
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not the name of a job", name));
}

}  // namespace

void JobOptions::add_to(CLI::App& command) {
    command.add_option("-n,--namespace", ns, "namespace of the jobs");
    command.add_option("-T,--type", type, "tfjob, pytorchjob or job");
    add_connection(command, kube);
}

Result<std::optional<TrainingType>> JobOptions::chosen_type() const {
    if (type.empty()) return std::optional<TrainingType>();
    TRY(const TrainingType chosen, workload::parse_training_type(type));
    return std::optional(chosen);
}

Result<TrainingStatus> job_of(Trainings& cluster, const KubeConnection& connection,
                              const JobOptions& options, const std::string& name) {
    TRY_VOID(check_name(name));
    TRY(const std::string ns, checked_namespace(options.ns, connection));
    TRY(const auto type, options.chosen_type());
    return find_training(cluster, ns, name, type);
}

Result<std::vector<TrainingStatus>> jobs_of(Trainings& cluster, const KubeConnection& connection,
                                            const JobOptions& options, bool all_namespaces) {
    TRY(const std::string ns, checked_namespace(options.ns, connection));
    TRY(const auto type, options.chosen_type());
    TRY(auto jobs, cluster.list(all_namespaces ? "" : ns, ""));
    if (type) std::erase_if(jobs, [&](const TrainingStatus& job) { return job.type != *type; });
    return jobs;
}

void print_jobs(std::span<const TrainingStatus> jobs, const WorkloadView& view,
                const KubeConnection& connection, const JobOptions& options, bool all_namespaces,
                JobTable table) {
    if (is_object(options.output))
        return print_json(training_list_json(jobs, view), options.output);
    if (!jobs.empty()) {
        std::cout << table(jobs, view, all_namespaces);
        return;
    }
    const auto ns = checked_namespace(options.ns, connection);
    warn("no training jobs in " + (all_namespaces || !ns ? "any namespace" : "namespace " + *ns));
}

}  // namespace tessera
