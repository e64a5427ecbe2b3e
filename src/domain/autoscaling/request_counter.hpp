// Where a pod counts its requests: a counter in Prometheus' text format.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct RequestCounter {
    int port = 0;
    std::string path;    // begins with a slash
    std::string metric;  // the name, which is summed over all labels

    friend bool operator==(const RequestCounter&, const RequestCounter&) = default;
};

// The annotation of a pod.
inline constexpr std::string_view kRequestCounterAnnotation = "tessera.dev/request-counter";

// Whether the text can be the name of a metric.
bool is_metric_name(std::string_view text);

// As the annotation tessera.dev/request-counter has it: "8501/monitoring/metrics NAME".
std::string to_string(const RequestCounter& counter);
// Of that annotation. invalid_argument for any other text.
Result<RequestCounter> parse_request_counter(std::string_view text);

}  // namespace tessera
