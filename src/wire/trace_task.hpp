// A row of a trace that tells when its tasks came.
#pragma once

#include <cstdint>
#include <string>

#include "wire/openb_csv.hpp"

namespace tessera {

struct TraceTask {
    OpenbPod pod;
    std::int64_t came_s = 0;  // since the trace began; -1: before that
    int instances = 1;        // so many alike
    std::string app;          // of which it is an instance
    int most_on_node = 0;     // instances of its application; 0: any number

    friend bool operator==(const TraceTask&, const TraceTask&) = default;
};

}  // namespace tessera
