// Where a path of a container really leads, when folders of its image are symbolic links (ostree
// images: /usr/local is a link to /var/usrlocal). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// What the link at this path says; nothing where there is no link. The path has no links in it but
// for its last part.
using LinkReader = std::function<std::optional<std::string>(const std::string& path)>;

// `path` (normalized, absolute) with the links of its folders followed, as a program in the
// container follows them: none leads above the container's root. The last part is not followed: a
// mount stands on it. `path` itself where the links have no end.
std::string with_folders_resolved(std::string_view path, const LinkReader& link_at);

}  // namespace tessera
