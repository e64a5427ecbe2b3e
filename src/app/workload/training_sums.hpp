// What the pods of a training job request and have.
#pragma once

#include "app/workload/view_text.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

// Whole GPUs of all pods.
int requested_gpus(const workload::TrainingStatus& job);
// Memory of the shares of all pods; 0 if they request whole GPUs or none.
Bytes requested_memory(const workload::TrainingStatus& job);
// What one pod requests.
workload::Gpus requested_by(const workload::TrainingStatus& job, const workload::TrainingPod& one);
// In GPUs, of the pods that run: of a share, its part of the GPU's memory.
double allocated_gpus(const workload::TrainingStatus& job, const WorkloadView& view);
// Memory of the shares of the pods that run.
Bytes allocated_memory(const workload::TrainingStatus& job);
// Of each pod of the first role that has GPUs; none without one.
workload::Gpus main_gpus(const workload::TrainingStatus& job);
bool has_shares(const workload::TrainingStatus& job);

// Whether it is the first pod of the anchor.
bool is_chief(const workload::TrainingStatus& job, const workload::TrainingPod& one);
// Null if it is not there.
const workload::WorkloadPod* chief_of(const workload::TrainingStatus& job);

}  // namespace tessera
