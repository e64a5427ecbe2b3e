#include "domain/container_start/mount_conflicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "domain/container_start/path_parts.hpp"

namespace tessera {
namespace {

// The part of `path` after `marker`, up to the next slash; empty if `marker` is missing.
std::string_view part_after(std::string_view path, std::string_view marker) {
    const std::size_t at = path.find(marker);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = path.substr(at + marker.size());
    return rest.substr(0, rest.find('/'));
}

// The name of what is mounted, as the pod spells it, for an event.
std::string name_of(const ContainerMount& mount) {
    const std::string volume = mount.volume.empty() ? volume_of(mount.source) : mount.volume;
    if (volume == kTerminationMessage) return "the file of terminationMessagePath";
    return "volume " + volume;
}

tl::unexpected<Error> conflict(const ContainerMount& mount, std::string_view path,
                               std::string_view what, std::string_view fix) {
    return fail(Code::invalid_argument,
                fmt::format("{} is mounted at {}, {} {}, which enforces the container's GPU share; "
                            "{}",
                            name_of(mount), mount.destination, what, path, fix));
}

Result<> check_one(const ContainerMount& mount, std::string_view path) {
    const std::string at = normalized_path(mount.destination);
    const bool is_volume = !mount.volume.empty() || volume_of(mount.source) != mount.source;
    if (at == path && path == kSharedMemoryFolder && !is_volume) return {};
    if (at == path && path == kPreloadList) {
        return conflict(
            mount, path, "in place of",
            fmt::format("mount it somewhere else. If an administrator wants its lines beside the "
                        "guard's, they add its folder on the node{} to the agent's "
                        "--preload-merge-from and mount that folder into the agent's pod",
                        mount.source.empty() ? "" : fmt::format(" (of {})", mount.source)));
    }
    if (is_at_or_below(at, path)) {
        return conflict(mount, path, at == path ? "in place of" : "below",
                        "mount it somewhere else");
    }
    if (mount.read_only && is_at_or_below(path, at)) {
        return conflict(mount, path, "and it is read-only, so the runtime cannot create",
                        "mount it somewhere else, or mount single files of it by subPath");
    }
    return {};
}

}  // namespace

std::string normalized_path(std::string_view path) {
    std::vector<std::string_view> parts;
    for (const std::string_view part : path_parts(path)) {
        if (part != "..") {
            parts.push_back(part);
        } else if (!parts.empty()) {
            parts.pop_back();
        }
    }
    std::string out;
    for (const std::string_view part : parts)
        out.append("/").append(part);
    return out.empty() ? "/" : out;
}

bool is_at_or_below(std::string_view path, std::string_view folder) {
    if (folder == "/" || path == folder) return true;
    return path.starts_with(folder) && path[folder.size()] == '/';
}

std::string volume_of(std::string_view source) {
    // PODS/UID/volumes/PLUGIN/NAME and PODS/UID/volume-subpaths/NAME/CONTAINER/INDEX.
    const std::string_view by_subpath = part_after(source, "/volume-subpaths/");
    if (!by_subpath.empty()) return std::string(by_subpath);
    // PODS/UID/containers/CONTAINER/ID is the file from which kubelet reads a container's
    // termination message.
    if (!part_after(source, "/pods/").empty() && !part_after(source, "/containers/").empty())
        return std::string(kTerminationMessage);
    const std::string_view plugin = part_after(source, "/volumes/");
    const std::string_view name =
        plugin.empty() ? plugin : part_after(source, fmt::format("/volumes/{}/", plugin));
    return std::string(name.empty() ? source : name);
}

Result<std::optional<ContainerMount>> check_mounts(const ContainerSetup& setup,
                                                   std::span<const std::string> ours,
                                                   std::span<const std::string> merge_from) {
    std::optional<ContainerMount> merged;
    for (const std::string& device : setup.devices) {
        for (const std::string& path : ours) {
            if (!is_at_or_below(normalized_path(device), path)) continue;
            return fail(Code::invalid_argument,
                        fmt::format("a device is at {}, in place of {}, which enforces the "
                                    "container's GPU share; give the volume another devicePath",
                                    device, path));
        }
    }
    for (const ContainerMount& mount : setup.mounts) {
        const std::string source = normalized_path(mount.source);
        const bool may_merge = !mount.source.empty() &&
                               std::ranges::any_of(merge_from, [&](const std::string& folder) {
                                   return is_at_or_below(source, normalized_path(folder));
                               });
        // Only with our spelling does the runtime replace the mount by ours instead of adding it.
        if (may_merge && mount.destination == kPreloadList) {
            merged = mount;
            continue;
        }
        for (const std::string& path : ours)
            TRY_VOID(check_one(mount, path));
    }
    return merged;
}

}  // namespace tessera
