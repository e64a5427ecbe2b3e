// Whether the mounts of a pod leave those of Tessera in force. The runtime sorts all mounts of a
// container by depth and then by name, so a mount of the pod at or below a path of ours would cover
// ours, and one above it is covered by ours. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/handover/container_setup.hpp"

namespace tessera {

// The dynamic loader's list of libraries to preload, in a container. Nix's and Guix's loaders read
// the second one.
inline constexpr std::string_view kPreloadList = "/etc/ld.so.preload";
inline constexpr std::string_view kNixPreloadList = "/etc/ld-nix.so.preload";

// An absolute path without ".", "..", doubled slashes and a slash at its end; "/" for the root.
// Without looking at a file system: links are not followed.
std::string normalized_path(std::string_view path);

// Whether `path` is `folder` or lies below it. Both normalized.
bool is_at_or_below(std::string_view path, std::string_view folder);

// The name of a pod's volume, from the path that kubelet gives it on the node; the path itself
// where it is no such one (a hostPath volume). kTerminationMessage for the file of that.
std::string volume_of(std::string_view source);

// invalid_argument, for the pod's event, where a mount or a device of the pod would cover one of
// `ours`, or keep it from being made. Otherwise the mount of the pod that stands exactly at
// kPreloadList and comes from one of `merge_from`: its lines are to be merged with ours. `ours` are
// normalized absolute paths.
Result<std::optional<ContainerMount>> check_mounts(const ContainerSetup& setup,
                                                   std::span<const std::string> ours,
                                                   std::span<const std::string> merge_from);

}  // namespace tessera
