// The Kubernetes objects of training jobs, as JSON. The Job of the first role is the anchor: the
// others have an owner reference to it.
#pragma once

#include <string>
#include <string_view>

#include "domain/workload/training.hpp"

namespace tessera::workload {

// Labels of all objects of a training job, and of its pods, beside those of object_json.hpp.
inline constexpr std::string_view kJobNameLabel = "tessera.dev/job-name";
inline constexpr std::string_view kJobTypeLabel = "tessera.dev/job-type";
inline constexpr std::string_view kJobRoleLabel = "tessera.dev/job-role";  // of Jobs and pods

// batch/v1 Job of a role. `owner_uid`: of the anchor's Job; empty: no owner reference.
std::string write_training_role(const Training& job, const Role& role, std::string_view owner_uid);
// v1 Service without an address, for the host names of the pods.
std::string write_training_service(const Training& job, std::string_view owner_uid);
// v1 ConfigMap with the files of the pods; all roles have the same.
std::string write_training_files(const Training& job, std::string_view owner_uid);

}  // namespace tessera::workload
