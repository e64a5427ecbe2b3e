// The HorizontalPodAutoscaler (autoscaling/v2) of a serving job. It has the name of the job's
// Deployment, which owns it.
#pragma once

#include <string>
#include <string_view>

#include "domain/serving/serving.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// `job` has autoscaling. `owner_uid`: of the Deployment; empty: no owner reference.
std::string write_scaler(const Serving& job, std::string_view owner_uid);
// A merge patch that makes the autoscaling that of `job`.
std::string write_scaler_update(const Serving& job);

// What it does now.
ScalingStatus read_scaler(JsonValue scaler);

}  // namespace tessera::workload
