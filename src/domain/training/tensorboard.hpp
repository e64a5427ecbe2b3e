// TensorBoard beside a training job: `tessera submit --tensorboard`, with Arena's flags
// (docs/research/arena.md §3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/training/training.hpp"

namespace tessera::workload {

struct TensorboardFlags {
    bool wanted = false;  // --tensorboard
    std::string image;    // empty: kTensorboardImage
    std::string logdir;   // empty: kTensorboardLogdir
};

inline constexpr std::string_view kTensorboardImage = "tensorflow/tensorflow:latest";
inline constexpr std::string_view kTensorboardLogdir = "/training_logs";
inline constexpr int kTensorboardPort = 6006;

// Sets job.tensorboard: a pod that reads the logs on the volume of --data or --data-dir on which
// the job writes them. It runs on the node of the job's first pod, and has no GPU. The roles of
// `job` are complete. invalid_argument names the flag and the fix.
Result<> add_tensorboard(const TensorboardFlags& flags, Training& job);

// The name of the Deployment and the Service.
std::string tensorboard_name(std::string_view job);

}  // namespace tessera::workload
