// How far a pod has come, in words.
#pragma once

#include <string>

#include "wire/text/json.hpp"

namespace tessera::workload {

struct PodProgress {
    std::string status;  // as in the column STATUS of kubectl
    int ready = 0;       // containers
    int containers = 0;
    int restarts = 0;
    std::string why;  // why it is not ready: the cause with the API's own text; empty if it is
};

PodProgress read_pod_progress(JsonValue pod);

}  // namespace tessera::workload
