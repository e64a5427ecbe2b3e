// Annotation keys of pods, Nodes and the leader's Lease, and two labels of pods. The complete list
// of resources, annotations, labels and taints is domain/request/keys.def.
#pragma once

#include <array>
#include <string_view>

namespace tessera::key {

inline constexpr std::string_view kGpus = "tessera.dev/gpus";  // Node: docs/formats/node-gpus.md
// Node: "in-use", or "released" after the agent has released the driver
// (domain/health/driver_release.hpp).
inline constexpr std::string_view kDriver = "tessera.dev/driver";
inline constexpr std::string_view kAllocation =
    "tessera.dev/allocation";  // Pod: docs/formats/allocation.md
// Pod: the HMAC-SHA256 of kAllocation's text, in 64 hexadecimal digits.
inline constexpr std::string_view kAllocationMac = "tessera.dev/allocation-mac";
// Pod: how its shares are enforced.
inline constexpr std::string_view kEnforcedBy = "tessera.dev/enforced-by";
inline constexpr std::string_view kEnforcedByGuard = "guard";
// The enforcers of memory and compute, by the names that the agent uses (EnforcedBy).
inline constexpr std::string_view kEnforcedByGuardAndMps = "memory=guard,compute=mps";
inline constexpr std::string_view kEnforcedByDriverAndGuard = "memory=driver,compute=guard";
inline constexpr std::string_view kEnforcedByNothing = "none";
inline constexpr std::string_view kExclusive = "exclusive";  // it has whole GPUs only
// Pod: docs/formats/resize.md. kResize: the user's request. kResizeRefused: why it was refused.
inline constexpr std::string_view kResize = "tessera.dev/resize-request";
inline constexpr std::string_view kResizeRefused = "tessera.dev/resize-refused";

// The annotations that only Tessera writes on a pod.
inline constexpr auto kWrittenByTessera =
    std::to_array<std::string_view>({kAllocation, kAllocationMac, kEnforcedBy, kResizeRefused});

// Pod: the name of its gang, and how many pods of the gang are placed together.
inline constexpr std::string_view kGang = "tessera.dev/gang";
inline constexpr std::string_view kGangSize = "tessera.dev/gang-size";
// The same, as labels of the pod: the lightweight form of kube-scheduler's coscheduling plugin
// (kubernetes-sigs/scheduler-plugins), which Arena writes (docs/users/gangs.md).
inline constexpr std::string_view kPodGroupLabel = "pod-group.scheduling.sigs.k8s.io/name";
inline constexpr std::string_view kPodGroupMinAvailableLabel =
    "pod-group.scheduling.sigs.k8s.io/min-available";

// Lease: the URL at which the leading controller answers.
inline constexpr std::string_view kUrl = "tessera.dev/url";

}  // namespace tessera::key
