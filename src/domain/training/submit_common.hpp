// What the kinds of training jobs share.
#pragma once

#include <string>
#include <string_view>

#include "domain/training/submit_flags.hpp"

namespace tessera::workload {

Result<> check_number(std::string_view flag, int value, int least, int most);

// A job with all but its roles.
Result<Training> begin_training(const SubmitFlags& flags, TrainingType type);
// The pod of every role.
Result<PodTemplate> pod_of(const SubmitFlags& flags, TrainingType type);

// Pods that work together find each other by name. NCCL refuses two of them on one GPU, so each
// gets a GPU of its own; an evaluator only reads what they write.
void connect(Training& job);
// The name by which other pods find pod `index` of the role.
std::string host_of(const Training& job, const Role& role, int index);
// What kubelet replaces by a pod's index in its role, in the variables of connected pods.
std::string index_text();
// Variables of the user with these names take precedence.
void add_variable(PodTemplate& pod, std::string name, std::string value);

// The job with its gang, if it is to be one.
Result<Training> finished(Training job, const SubmitFlags& flags);

}  // namespace tessera::workload
