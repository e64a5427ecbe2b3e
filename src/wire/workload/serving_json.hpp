// The Kubernetes objects of serving jobs, as JSON. The Deployment is the anchor: the others have an
// owner reference to it, so whatever deletes it deletes them all.
#pragma once

#include <string>
#include <string_view>

#include "domain/serving/serving.hpp"
#include "wire/workload/object_json.hpp"

namespace tessera::workload {

// Labels of all objects of a serving job, and of its pods, beside those of object_json.hpp.
inline constexpr std::string_view kServingNameLabel = "tessera.dev/serving-name";
inline constexpr std::string_view kServingVersionLabel = "tessera.dev/serving-version";
inline constexpr std::string_view kServingTypeLabel = "tessera.dev/serving-type";

// Of the pods alone: whether the Service that the versions of one name share selects them
// (traffic_split_json.hpp). It is no part of the Deployment's selector.
inline constexpr std::string_view kSplitLabel = "tessera.dev/serving-split";
constexpr std::string_view split_value(bool in_split) {
    return in_split ? "in" : "out";
}

// The labels of all objects of a job, and the owner of those that the Deployment owns. The texts
// outlive it.
StringMap serving_labels(const Serving& job);
Owner serving_owner(std::string_view object, std::string_view uid);

// apps/v1 Deployment.
std::string write_serving_deployment(const Serving& job);
// v1 Service of type ClusterIP. `owner_uid`: of the Deployment; empty: no owner reference.
std::string write_serving_service(const Serving& job, std::string_view owner_uid);
// v1 ConfigMap with the job's files; as write_serving_service.
std::string write_serving_files(const Serving& job, std::string_view owner_uid);
// A JSON patch of the Deployment that records the job's arguments and makes the change. The API
// server refuses it (422) if another command changed the job since it was read: `uid` and
// `recorded` are of ServingStatus. If it changes the pods, also if their part in a split was
// changed: `job` has the part that was read.
std::string write_serving_update(const Serving& job, std::string_view uid,
                                 std::string_view recorded, const ServingChange& change);

}  // namespace tessera::workload
