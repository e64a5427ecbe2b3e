// What only `tessera submit mpi` adds to a job.
#pragma once

#include <CLI/CLI.hpp>

#include "domain/training/submit_flags.hpp"
#include "programs/tessera/common_options.hpp"

namespace tessera {

void add_mpi(CLI::App& command, workload::MpiJobFlags& flags);
// The image and the secret of tessera-mpi-shell, for a job that has it. The image of the cluster
// counts if no flag named one.
Result<> complete_shell(workload::Training& job, const KubeConnection& connection);

}  // namespace tessera
