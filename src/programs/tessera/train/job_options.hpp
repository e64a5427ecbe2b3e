// Options of the commands about training jobs, and the jobs that they name.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "app/workload/view_text.hpp"
#include "ports/kube/trainings.hpp"

namespace tessera {

struct JobOptions {
    KubeConfigOptions kube;
    std::string ns;
    std::string type;
    std::string output;

    void add_to(CLI::App& command);
    [[nodiscard]] Result<std::optional<workload::TrainingType>> chosen_type() const;
};

// The job of this name.
Result<workload::TrainingStatus> job_of(Trainings& cluster, const KubeConnection& connection,
                                        const JobOptions& options, const std::string& name);
// The jobs of the namespace, or of all, of the type that the options name.
Result<std::vector<workload::TrainingStatus>> jobs_of(Trainings& cluster,
                                                      const KubeConnection& connection,
                                                      const JobOptions& options,
                                                      bool all_namespaces);
using JobTable = std::string (*)(std::span<const workload::TrainingStatus> jobs,
                                 const WorkloadView& view, bool namespaces);
// Prints the jobs, as `table` shows them or as JSON or YAML. Without any, stderr says so.
void print_jobs(std::span<const workload::TrainingStatus> jobs, const WorkloadView& view,
                const KubeConnection& connection, const JobOptions& options, bool all_namespaces,
                JobTable table);

}  // namespace tessera
