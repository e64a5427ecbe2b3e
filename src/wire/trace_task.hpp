// A row of a trace that tells when its tasks came.
#pragma once

#include <cstdint>

#include "wire/openb_csv.hpp"

namespace tessera {

struct TraceTask {
    OpenbPod pod;
    std::int64_t came_s = 0;  // since the trace began; -1: before that
    int instances = 1;        // so many alike

    friend bool operator==(const TraceTask&, const TraceTask&) = default;
};

}  // namespace tessera
