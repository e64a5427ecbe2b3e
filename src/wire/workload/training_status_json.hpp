// Training jobs, as the API server shows them.
#pragma once

#include <optional>
#include <string>

#include "domain/training/training_status.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// A batch/v1 Job of `tessera submit`, as a training job with this role only. Nothing if it is none.
std::optional<TrainingStatus> read_training_role(JsonValue job);
// A TrainingRuntime of `tessera submit --backend trainjob`, as a training job that has no Job yet.
// Nothing if it is none.
std::optional<TrainingStatus> read_training_runtime(JsonValue runtime);
// Adds what the TrainJob of this runtime says, and nothing of another one.
void read_train_job(JsonValue train_job, TrainingStatus& job);
// The training job that an object belongs to, by its labels; empty: none.
std::string read_training_of(JsonValue object);
TrainingPod read_training_pod(JsonValue pod);
// Orders the pods by role and index.
void sort_pods(TrainingStatus& job);

}  // namespace tessera::workload
