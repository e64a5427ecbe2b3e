// An event of the cluster about an object of a job.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::workload {

struct ObjectEvent {
    std::string uid;     // of the object
    std::string object;  // such as pod/train-worker-0
    std::string type;    // Normal or Warning
    std::string reason;  // such as Scheduled
    std::string message;
    int count = 1;            // how often it happened
    std::int64_t last_s = 0;  // when, the last time; seconds since 1970

    friend bool operator==(const ObjectEvent&, const ObjectEvent&) = default;
};

}  // namespace tessera::workload
