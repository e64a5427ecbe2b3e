// What a pod's user is told of it.
#pragma once

#include <string>

#include "base/ids.hpp"

namespace tessera {

enum class PodEventType { normal, warning };

// Reasons that tessera doctor looks for.
inline constexpr const char* kAccountsDamaged = "GpuAccountsDamaged";
inline constexpr const char* kMemoryUnaccounted = "GpuMemoryUnaccounted";
inline constexpr const char* kEnforcementCovered = "GpuEnforcementCovered";
inline constexpr const char* kShareMissing = "GpuShareMissing";

struct PodEvent {
    PodUid pod;
    PodName name;
    PodEventType type = PodEventType::normal;
    std::string reason;   // one word, CamelCase
    std::string message;  // for people
    std::string source;   // the program that says so
};

}  // namespace tessera
