// From the flags of `tessera submit` to training jobs. The flags are Arena's
// (docs/research/arena.md §3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/workload/pod_flags.hpp"
#include "domain/workload/training.hpp"

namespace tessera::workload {

struct SubmitFlags {
    std::string ns;
    std::string name;
    int workers = 1;  // of PyTorch, this includes the master, as in Arena
    int retry = 0;    // for each job, how many pods may fail
    bool gang = false;
    std::string priority;
    std::string queue;
    std::string working_dir;         // empty: that of the image
    std::string running_timeout;     // a duration, such as 2h30m
    std::string ttl_after_finished;  // the same
    PodFlags pod;
    std::vector<std::string> words;  // the command line, which a shell runs
};

struct TensorflowJobFlags {
    SubmitFlags submit;
    bool chief = false;
    int port = 2222;
    std::string success_policy = "ChiefWorker";  // or AllWorkers
};

struct PytorchJobFlags {
    SubmitFlags submit;
    std::string nproc_per_node = "1";  // a number, or what torchrun accepts
    int port = 29'500;
};

// invalid_argument names the flag and the fix.
Result<Training> tensorflow_job(const TensorflowJobFlags& flags);
Result<Training> pytorch_job(const PytorchJobFlags& flags);
// Pods that do not know of each other. Each finds its number in JOB_COMPLETION_INDEX.
Result<Training> plain_job(const SubmitFlags& flags);

// A duration of Go, such as 90s, 1h30m or 2h, in seconds. At least 1.
Result<std::int64_t> parse_duration(std::string_view flag, std::string_view text);

}  // namespace tessera::workload
