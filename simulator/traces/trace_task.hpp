// A row of a trace that contains its tasks' arrival times.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/traces/openb_csv.hpp"

namespace tessera {

struct TraceTask {
    OpenbPod pod;
    std::int64_t came_s = 0;  // arrival, since the trace began; -1: before that
    int instances = 1;        // number of identical instances
    std::string app;          // its application
    int most_on_node = 0;     // limit for instances of its application; 0: any number

    friend bool operator==(const TraceTask&, const TraceTask&) = default;
};

}  // namespace tessera
