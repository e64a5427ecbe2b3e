// The Kubernetes objects of a training job's TensorBoard, as JSON. The anchor's Job owns both.
#pragma once

#include <string>
#include <string_view>

#include "domain/training/training.hpp"

namespace tessera::workload {

// A label of both objects and of the pod: the job's name. They do not have the labels of the job's
// own pods, whose Service would find TensorBoard, too.
inline constexpr std::string_view kTensorboardLabel = "tessera.dev/tensorboard";

// apps/v1 Deployment and v1 Service. `job.tensorboard` has a value. `owner_uid` empty: no owner
// reference.
std::string write_tensorboard_deployment(const Training& job, std::string_view owner_uid);
std::string write_tensorboard_service(const Training& job, std::string_view owner_uid);

}  // namespace tessera::workload
