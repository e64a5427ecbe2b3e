// From the flags of `tessera submit` to training jobs. The flags are Arena's
// (docs/research/arena.md §3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/training/sync_flags.hpp"
#include "domain/training/tensorboard.hpp"
#include "domain/training/training.hpp"
#include "domain/workload/pod_flags.hpp"

namespace tessera::workload {

struct SubmitFlags {
    std::string ns;
    std::string name;
    int workers = 1;              // of PyTorch, this includes the master, as in Arena
    std::string backend = "job";  // or trainjob
    int retry = 0;                // for each job, how many pods may fail
    bool gang = false;
    std::string priority;
    std::string queue;
    std::string working_dir;         // empty: that of the image
    std::string running_timeout;     // a duration, such as 2h30m
    std::string ttl_after_finished;  // the same
    std::string scheduler;           // empty: the cluster's default
    bool rdma = false;               // an RDMA adapter
    HostParts host;
    PodFlags pod;
    SyncFlags sync;
    TensorboardFlags tensorboard;
    std::vector<std::string> words;  // the command line, which a shell runs
};

// The flags of one role of TensorFlow, such as --worker-image. Empty: as for the whole job.
struct RoleFlags {
    std::string image;
    std::string cpu;  // without a limit: the limit, too
    std::string cpu_limit;
    std::string memory;  // the same
    std::string memory_limit;
    std::vector<std::string> selectors;  // KEY=VALUE; in place of those of the job
    int port = 2222;                     // an evaluator has none
    // Only of workers and parameter servers: none, spread or binpack; preferred or required.
    std::string affinity_policy = "none";
    std::string affinity_constraint = "preferred";
};

struct TensorflowJobFlags {
    SubmitFlags submit;
    int ps = 0;       // number of parameter servers
    int ps_gpus = 0;  // whole GPUs of each; it has no share
    bool chief = false;
    bool evaluator = false;
    RoleFlags worker_role = {};
    RoleFlags ps_role = {};
    RoleFlags chief_role = {};
    RoleFlags evaluator_role = {};
    std::string success_policy = "ChiefWorker";  // or AllWorkers
    std::string clean_task_policy = "Running";   // of training.hpp
};

struct PytorchJobFlags {
    SubmitFlags submit;
    std::string nproc_per_node = "1";  // a number, or what torchrun accepts
    int port = 29'500;
};

struct MpiJobFlags {
    SubmitFlags submit;           // workers: without the launcher; cpu, memory: of each worker
    int slots_per_worker = 0;     // 0: one for each whole GPU, or one
    std::string launcher_cpu;     // of the launcher; empty: no limit
    std::string launcher_memory;  // the same
    bool mounts_on_launcher = false;
    std::string clean_task_policy = "Running";  // of training.hpp
    std::string shell_image;                    // Tessera's; empty: the caller sets it in the pods
};

// invalid_argument names the flag and the fix.
Result<Training> tensorflow_job(const TensorflowJobFlags& flags);
Result<Training> pytorch_job(const PytorchJobFlags& flags);
// Without job.shell_secret, which is random.
Result<Training> mpi_job(const MpiJobFlags& flags);
// Pods that do not know of each other. Each finds its number in JOB_COMPLETION_INDEX.
Result<Training> plain_job(const SubmitFlags& flags);

// A duration of Go, such as 90s, 1h30m or 2h, in seconds. At least 1.
Result<std::int64_t> parse_duration(std::string_view flag, std::string_view text);

}  // namespace tessera::workload
