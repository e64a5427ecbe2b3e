// An Event of a pod (core/v1), as kubectl describe shows it.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"

namespace tessera {

enum class PodEventType { normal, warning };

struct PodEvent {
    PodUid pod;
    PodName name;
    PodEventType type = PodEventType::normal;
    std::string reason;   // one word, CamelCase
    std::string message;  // for people
    std::string source;   // the program that says so
};

// To be posted to the events of the pod's namespace. `unix_s`: seconds since 1970.
std::string write_pod_event(const PodEvent& event, std::int64_t unix_s);

}  // namespace tessera
