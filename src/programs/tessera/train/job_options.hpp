// Options of the commands about training jobs, and the jobs that they name.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "adapters/kube/kubeconfig.hpp"
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
// Says on stderr that there are none.
void warn_no_jobs(const KubeConnection& connection, const JobOptions& options, bool all_namespaces);

}  // namespace tessera
