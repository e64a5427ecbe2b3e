// Goal: links in a container's folders are resolved as its programs resolve them.
#include "domain/container_start/link_resolution.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

std::string resolved(const std::string& path, const std::map<std::string, std::string>& links) {
    return with_folders_resolved(path, [&](const std::string& at) {
        const auto link = links.find(at);
        return link == links.end() ? std::nullopt : std::optional(link->second);
    });
}

TEST(LinkResolution, Table) {
    const std::string path = "/usr/local/tessera/limits";
    EXPECT_EQ(resolved(path, {}), path);
    EXPECT_EQ(resolved(path, {{"/usr/local", "/var/usrlocal"}}), "/var/usrlocal/tessera/limits");
    EXPECT_EQ(resolved(path, {{"/usr/local", "../var/usrlocal"}}), "/var/usrlocal/tessera/limits");
    EXPECT_EQ(resolved(path, {{"/usr/local", "../../../x/./y//"}}), "/x/y/tessera/limits");
    EXPECT_EQ(
        resolved(path, {{"/usr", "/sysroot"}, {"/sysroot/local", "opt"}, {"/usr/local", "no"}}),
        "/sysroot/opt/tessera/limits");
    EXPECT_EQ(resolved(path, {{"/usr/local", "/"}}), "/tessera/limits");
    EXPECT_EQ(resolved("/limits", {{"/limits", "/x"}}), "/limits");
}

// Goal: the last part is the mount point, so a link there is not resolved.
TEST(LinkResolution, TheLastPartIsNotFollowed) {
    EXPECT_EQ(resolved("/etc/ld.so.preload", {{"/etc/ld.so.preload", "/x"}}), "/etc/ld.so.preload");
}

TEST(LinkResolution, LinksWithoutAnEnd) {
    EXPECT_EQ(resolved("/a/b", {{"/a", "/a"}}), "/a/b");
    EXPECT_EQ(resolved("/a/b", {{"/a", "c"}, {"/c", "a"}}), "/a/b");
}

}  // namespace
}  // namespace tessera
