// tessera prune: which training jobs are old enough to be deleted.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/workload/training_status.hpp"

namespace tessera {

struct PruneRule {
    std::int64_t since_s = 0;   // the least age, in seconds: since the end or, if it waits, since
                                // it was created
    bool with_pending = false;  // also jobs that have not begun
};

// Seconds since the job ended or, if it waits, since it was created.
std::int64_t age_for_prune(const workload::TrainingStatus& job, std::int64_t now_s);

// Jobs that run are never among them.
std::vector<workload::TrainingStatus> jobs_to_prune(std::vector<workload::TrainingStatus> jobs,
                                                    const PruneRule& rule, std::int64_t now_s);

}  // namespace tessera
