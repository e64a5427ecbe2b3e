// The events of pods' shares that agents write, and what tessera doctor says of each.
#pragma once

#include <array>

#include "domain/events/pod_event.hpp"

namespace tessera::doctor {

struct ShareTroubleRow {
    const char* reason;  // the event's
    const char* found;   // a list of pods follows
    const char* fix;
};

// The worst first.
inline constexpr auto kShareTroubles = std::to_array<ShareTroubleRow>({
    {kMemoryUnaccounted, "went past the guard within the hour: ",
     "what did they run? kubectl describe pod; deploy/end-evaders ends such pods"},
    {kShareMissing, "ran without their share within the hour: ",
     "delete them, so that they are created again; deploy/end-evaders restarts such containers"},
    {kEnforcementCovered, "covered or removed the guard's files within the hour: ",
     "kubectl describe pod names the path; deploy/end-evaders restarts such containers"},
    {kAccountsDamaged, "cut or overwrote their accounts within the hour: ",
     "they get no more GPU memory until their container starts again: make them anew"},
});

}  // namespace tessera::doctor
