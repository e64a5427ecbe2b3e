// Checks that the API server gets the custom metrics API from the controllers, if they are
// configured to serve it (docs/install/serving-metrics.md).
#pragma once

#include "domain/doctor/judgement.hpp"

namespace tessera::doctor {

Judgement custom_metrics(const Facts& facts);

}  // namespace tessera::doctor
