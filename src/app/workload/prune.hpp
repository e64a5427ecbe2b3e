// tessera prune: which training jobs are old enough to be deleted.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/training/training_status.hpp"

namespace tessera {

struct PruneRule {
    std::int64_t since_s = 0;   // the least age, in seconds (age_for_prune())
    bool with_pending = false;  // also jobs that wait and have not begun
};

// Seconds since the job ended or, if it waits, since it began to: since it was created or
// suspended, or since its newest pod was created. 0 for a job whose end is not complete.
std::int64_t age_for_prune(const workload::TrainingStatus& job, std::int64_t now_s);

// A job of which any pod runs is never among them, nor one that waits of which any pod has run.
std::vector<workload::TrainingStatus> jobs_to_prune(std::vector<workload::TrainingStatus> jobs,
                                                    const PruneRule& rule, std::int64_t now_s);

}  // namespace tessera
