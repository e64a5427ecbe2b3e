// Resolves a path of a container whose image has folders that are symbolic links (ostree images:
// /usr/local is a link to /var/usrlocal). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// The target of the link at this path; nothing if there is no link. Only the last part of the path
// may be a link.
using LinkReader = std::function<std::optional<std::string>(const std::string& path)>;

// `path` (normalized, absolute) with the links in its folders resolved as for a program in the
// container: no link leads above the container's root. The last part is not resolved, because a
// mount is there. Returns `path` itself if the links form a loop.
std::string with_folders_resolved(std::string_view path, const LinkReader& link_at);

}  // namespace tessera
