// Whether the mounts of a pod conflict with those of Tessera. The runtime sorts all mounts of a
// container by depth and then by name. A mount of the pod at or below one of our paths would
// therefore cover ours; a mount above one is covered by ours. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/container_start/container_setup.hpp"

namespace tessera {

// The dynamic loader's list of libraries to preload, in a container. The loaders of Nix and Guix
// read the second one.
inline constexpr std::string_view kPreloadList = "/etc/ld.so.preload";
inline constexpr std::string_view kNixPreloadList = "/etc/ld-nix.so.preload";

// An absolute path without ".", "..", doubled slashes and a slash at its end; "/" for the root.
// Works on the text alone: links are not followed.
std::string normalized_path(std::string_view path);

// Whether `path` is `folder` or below it. Both are normalized.
bool is_at_or_below(std::string_view path, std::string_view folder);

// The folder of POSIX shared memory in a container. The runtime mounts one for the pod there, and
// replaces it by ours; a volume of the pod is in the way.
inline constexpr std::string_view kSharedMemoryFolder = "/dev/shm";

// The name of a pod's volume, from the path that kubelet gives it on the node. The path itself if
// it is no such path (a hostPath volume). kTerminationMessage for that field's file.
std::string volume_of(std::string_view source);

// invalid_argument, for the pod's event, if a mount or a device of the pod would cover one of
// `ours`, or prevent its creation. Otherwise returns the pod's mount at exactly kPreloadList if it
// comes from one of `merge_from`: its lines must be merged with ours. `ours` are normalized
// absolute paths.
Result<std::optional<ContainerMount>> check_mounts(const ContainerSetup& setup,
                                                   std::span<const std::string> ours,
                                                   std::span<const std::string> merge_from);

}  // namespace tessera
