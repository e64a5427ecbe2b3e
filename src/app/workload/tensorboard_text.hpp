// TensorBoard in the view of a training job. The member and the heading are Arena's.
#pragma once

#include <string>

#include "domain/training/training_status.hpp"

namespace tessera {

// The section of `tessera get`: how to open TensorBoard, or why it does not run. Empty for a job
// without one.
std::string tensorboard_text(const workload::TrainingStatus& job);
// Its address in the cluster.
std::string tensorboard_url(const workload::TrainingStatus& job);
// Why it does not run yet. Empty if it does.
std::string tensorboard_why(const workload::TrainingStatus& job);

}  // namespace tessera
