// Serving jobs, as the API server shows them.
#pragma once

#include <optional>
#include <string>

#include "domain/serving/serving_status.hpp"
#include "wire/text/json.hpp"

namespace tessera::workload {

// An apps/v1 Deployment of `tessera serve`, without Service and pods. Nothing if it is none.
std::optional<ServingStatus> read_serving(JsonValue deployment);
// The job that a Service or Pod belongs to, by its labels: ServingStatus::object.
std::string read_serving_of(JsonValue object);
// Adds a v1 Service, if it is the job's own and not another one with the job's labels.
void read_serving_service(JsonValue service, ServingStatus& job);

}  // namespace tessera::workload
