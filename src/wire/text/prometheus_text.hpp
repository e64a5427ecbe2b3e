// Metrics in Prometheus' text format (version 0.0.4; OpenMetrics text with the same lines).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// The sum of a metric over all of its labels, in thousandths. not_found if there is no such metric;
// corrupt if one of its lines has no value, or a value that is negative, infinite or too large.
// Lines of other metrics are not checked.
Result<std::int64_t> sum_of_counter(std::string_view text, std::string_view name);

}  // namespace tessera
