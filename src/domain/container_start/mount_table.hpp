// The mounts of a process's mount namespace, in the terms of proc(5) "mountinfo": which file a path
// leads to. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct MountEntry {
    std::int64_t id = 0;
    std::int64_t parent = 0;
    std::string device;       // "major:minor" of the file system
    std::string root;         // path in that file system
    std::string mount_point;  // path in the namespace

    friend bool operator==(const MountEntry&, const MountEntry&) = default;
};

// A file or folder by where it is stored: the same in every namespace.
struct StoredAt {
    std::string device;
    std::string path;  // in the file system of that device

    friend bool operator==(const StoredAt&, const StoredAt&) = default;
};

// Where the file at `path` (normalized, without links) of a namespace is stored. Nothing if no
// mount contains the path.
std::optional<StoredAt> stored_at(std::span<const MountEntry> mounts, std::string_view path);

// Whether exactly this file is mounted at exactly `path`, and no other mount covers it or a folder
// above it. A file that was replaced after it was mounted still counts.
bool is_mounted_at(std::span<const MountEntry> mounts, std::string_view path, const StoredAt& file);

// Whether exactly this file is mounted anywhere, covered or not.
bool is_mounted_anywhere(std::span<const MountEntry> mounts, const StoredAt& file);

}  // namespace tessera
