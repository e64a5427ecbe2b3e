// The Kubernetes objects of training jobs, as JSON. The Job of the first role, or the
// TrainingRuntime, is the anchor: the others have an owner reference to it.
#pragma once

#include <string>
#include <string_view>

#include "domain/training/role_end.hpp"
#include "domain/training/training.hpp"
#include "wire/workload/object_json.hpp"

namespace tessera::workload {

// Labels of all objects of a training job, and of its pods, beside those of object_json.hpp.
inline constexpr std::string_view kJobNameLabel = "tessera.dev/job-name";
inline constexpr std::string_view kJobTypeLabel = "tessera.dev/job-type";
inline constexpr std::string_view kJobRoleLabel = "tessera.dev/job-role";  // of Jobs and pods
// Of the Jobs of a job with several roles: the policy by which tessera-controller ends the others.
inline constexpr std::string_view kCleanPolicyLabel = "tessera.dev/clean-task-policy";
// Annotation of a Job that tessera-controller ended, with the reason.
inline constexpr std::string_view kEndedAnnotation = "tessera.dev/ended-because";

// The anchor, as the owner of other objects. `anchor`: job.anchor(), which outlives the result.
Owner owner_of(const Training& job, std::string_view anchor, std::string_view uid);

// trainer.kubeflow.org/v1alpha1 TrainingRuntime with the pods, and the TrainJob that runs it, of
// Kubeflow Trainer 2.0. Of a job with this backend.
std::string write_training_runtime(const Training& job);
std::string write_train_job(const Training& job, std::string_view owner_uid);

// batch/v1 Job of a role. `owner_uid`: of the anchor's Job; empty: no owner reference.
std::string write_training_role(const Training& job, const Role& role, std::string_view owner_uid);
// v1 Service without an address, for the host names of the pods.
std::string write_training_service(const Training& job, std::string_view owner_uid);
// v1 ConfigMap with the files of the pods; all roles have the same.
std::string write_training_files(const Training& job, std::string_view owner_uid);

// v1 Secret of job.shell_secret.
std::string write_training_secret(const Training& job, std::string_view owner_uid);

// A merge patch that ends a role's Job: only the Job with this uid.
std::string write_role_end(const RoleEnd& end);

}  // namespace tessera::workload
