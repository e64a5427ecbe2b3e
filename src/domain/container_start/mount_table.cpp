#include "domain/container_start/mount_table.hpp"

#include <algorithm>
#include <vector>

#include "domain/container_start/mount_conflicts.hpp"

namespace tessera {
namespace {

// The kernel adds this to the root of a mount whose file was removed or replaced.
constexpr std::string_view kDeleted = "//deleted";

// More mounts at and above one path are an attempt of a tenant to make this check slow.
constexpr std::size_t kMostAtOnePath = 64;

const MountEntry* entry_of(std::span<const MountEntry> mounts, std::int64_t id) {
    const auto at = std::ranges::find(mounts, id, &MountEntry::id);
    return at == mounts.end() ? nullptr : &*at;
}

// Whether the entry `id` is `of` itself or one of its ancestors. A table from a file may have a
// cycle.
bool is_in_chain(std::span<const MountEntry> mounts, const MountEntry& of, std::int64_t id) {
    const MountEntry* entry = &of;
    for (std::size_t steps = 0; entry != nullptr && steps <= mounts.size(); steps++) {
        if (entry->id == id) return true;
        entry = entry->parent == entry->id ? nullptr : entry_of(mounts, entry->parent);
    }
    return false;
}

// The mount in which a lookup of `path` ends: all other mounts at or above `path` are its
// ancestors. Null if there is no such mount: the mounts then cover each other in a way that the
// table does not show.
const MountEntry* top_mount(std::span<const MountEntry> mounts, std::string_view path) {
    std::vector<MountEntry> above;  // mounts at or above `path`
    for (const MountEntry& mount : mounts)
        if (is_at_or_below(path, mount.mount_point)) above.push_back(mount);
    if (above.size() > kMostAtOnePath) return nullptr;
    for (const MountEntry& candidate : above) {
        const bool is_top = std::ranges::all_of(above, [&](const MountEntry& other) {
            return is_in_chain(above, candidate, other.id);
        });
        // Not by its id: a table from a file may have an id twice, of mounts at other places.
        if (is_top) return &*std::ranges::find(mounts, candidate);
    }
    return nullptr;
}

bool is_of(const MountEntry& mount, const StoredAt& file) {
    std::string_view root = mount.root;
    if (root.ends_with(kDeleted)) root.remove_suffix(kDeleted.size());
    return mount.device == file.device && root == file.path;
}

}  // namespace

std::optional<StoredAt> stored_at(std::span<const MountEntry> mounts, std::string_view path) {
    const MountEntry* mount = top_mount(mounts, path);
    if (mount == nullptr) return std::nullopt;
    const std::string_view rest =
        path.substr(mount->mount_point == "/" ? 0 : mount->mount_point.size());
    return StoredAt{mount->device, normalized_path(mount->root + "/" + std::string(rest))};
}

bool is_mounted_at(std::span<const MountEntry> mounts, std::string_view path,
                   const StoredAt& file) {
    const MountEntry* mount = top_mount(mounts, path);
    return mount != nullptr && mount->mount_point == path && is_of(*mount, file);
}

bool is_mounted_anywhere(std::span<const MountEntry> mounts, const StoredAt& file) {
    return std::ranges::any_of(mounts, [&](const MountEntry& mount) { return is_of(mount, file); });
}

}  // namespace tessera
