// The events of pods' shares that agents write, and what `tessera doctor` says about each.
#pragma once

#include <array>

#include "domain/events/pod_event.hpp"

namespace tessera::doctor {

struct ShareReportRow {
    const char* reason;  // reason of the event
    const char* found;   // a list of pods follows
    const char* fix;
};

// The worst first.
inline constexpr auto kShareReports = std::to_array<ShareReportRow>({
    {kMemoryUnaccounted, "bypassed the guard within the hour: ",
     "check what they run: kubectl describe pod; guard.bypassAction=kill kills such processes"},
    {kShareMissing, "ran without their share within the hour: ",
     "delete them, so that they are created again; guard.bypassAction=kill restarts such "
     "containers"},
    {kEnforcementCovered, "lost what enforces their share within the hour: ",
     "kubectl describe pod says what; guard.bypassAction=kill restarts such containers"},
    {kAccountsDamaged, "cut or overwrote their accounts within the hour: ",
     "they get no more GPU memory until their container restarts: delete them, so that they are "
     "created again"},
});

}  // namespace tessera::doctor
