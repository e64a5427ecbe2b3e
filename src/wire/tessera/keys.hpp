// Every annotation key that Tessera reads or writes.
#pragma once

#include <array>
#include <string_view>

namespace tessera::key {

inline constexpr std::string_view kGpus = "tessera.dev/gpus";  // Node: docs/formats/node-gpus.md
// Node: "in-use", or "released" while the agent has let go of the driver (driver_release.hpp).
inline constexpr std::string_view kDriver = "tessera.dev/driver";
inline constexpr std::string_view kAllocation =
    "tessera.dev/allocation";  // Pod: docs/formats/allocation.md
inline constexpr std::string_view kAllocationMac = "tessera.dev/allocation-mac";  // its signature
inline constexpr std::string_view kEnforcedBy =
    "tessera.dev/enforced-by";                       // Pod: how the GPU share is enforced
inline constexpr std::string_view kGuard = "guard";  // a value of kEnforcedBy
// Pod: docs/formats/resize.md. The request of its user, and the reason if it was refused.
inline constexpr std::string_view kResize = "tessera.dev/resize-request";
inline constexpr std::string_view kResizeRefused = "tessera.dev/resize-refused";

// The annotations that only Tessera writes on a pod.
inline constexpr auto kWrittenByTessera =
    std::to_array<std::string_view>({kAllocation, kAllocationMac, kEnforcedBy, kResizeRefused});

// Pod: the name of its gang, and how many pods of the gang are placed together.
inline constexpr std::string_view kGang = "tessera.dev/gang";
inline constexpr std::string_view kGangSize = "tessera.dev/gang-size";
// The same, as labels of the lightweight coscheduling plug-in, which Arena writes
// (docs/users/gangs.md).
inline constexpr std::string_view kPodGroup = "pod-group.scheduling.sigs.k8s.io/name";
inline constexpr std::string_view kPodGroupSize = "pod-group.scheduling.sigs.k8s.io/min-available";

inline constexpr std::string_view kUrl = "tessera.dev/url";  // Lease: where its holder answers

}  // namespace tessera::key
