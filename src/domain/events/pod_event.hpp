// An event for a pod's user.
#pragma once

#include <string>

#include "base/ids.hpp"

namespace tessera {

enum class PodEventType { normal, warning };

// The reasons of all events.
#define POD_EVENT(constant, type, reason, program, meaning) \
    inline constexpr const char* constant = reason;
#include "domain/events/pod_events.def"
#undef POD_EVENT

struct PodEvent {
    PodUid pod;
    PodName name;
    PodEventType type = PodEventType::normal;
    std::string reason;   // one of the above
    std::string message;  // for people
    std::string source;   // the program that reports it
};

}  // namespace tessera
