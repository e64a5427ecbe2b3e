// tessera submit: creates, finds and deletes training jobs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "domain/training/training.hpp"
#include "domain/training/training_status.hpp"
#include "ports/kube/trainings.hpp"

namespace tessera {

// Creates the first role's Job, and then what it owns. If the command was interrupted before, the
// same command creates what is missing. If another object cannot be created, the Job is deleted
// again. Calls `print` for each object that it created, and `warn` if no GPU is large enough.
// Errors: conflict if there is another job of this name; those of the port.
Result<> create_training(Trainings& cluster, const workload::Training& job,
                         const std::function<void(const std::string&)>& print,
                         const std::function<void(const std::string&)>& warn);

// not_found if there is no such job, or if it has another type.
Result<workload::TrainingStatus> find_training(Trainings& cluster, const std::string& ns,
                                               const std::string& name,
                                               std::optional<workload::TrainingType> type);

// The pod whose log to show: the named one; of a job that failed, the pod that failed; otherwise
// the chief. not_found if there is none.
Result<workload::TrainingPod> pod_for_logs(const workload::TrainingStatus& job,
                                           const std::string& pod);

// The pod in which to run a command: the named one, or the first that runs, the chief before
// others. not_found without a pod, conflict if none runs.
Result<workload::TrainingPod> pod_for_command(const workload::TrainingStatus& job,
                                              const std::string& pod);

}  // namespace tessera
