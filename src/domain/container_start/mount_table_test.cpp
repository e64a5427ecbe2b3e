// Goal: a mount that covers one of ours is found, and no other mount is reported.
#include "domain/container_start/mount_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

const StoredAt kList{"8:1", "/var/lib/tessera/guard/ld.so.preload"};
constexpr const char* kPath = "/etc/ld.so.preload";

// A container's root, and our file on it.
std::vector<MountEntry> guarded() {
    return {{10, 1, "0:50", "/", "/"},
            {11, 10, "0:51", "/", "/proc"},
            {12, 10, "8:1", kList.path, kPath}};
}

TEST(MountTable, OurMountOnTop) {
    EXPECT_TRUE(is_mounted_at(guarded(), kPath, kList));
    EXPECT_FALSE(is_mounted_at(guarded(), "/etc/other", kList));
    EXPECT_FALSE(is_mounted_at({}, kPath, kList));
}

// Goal: an upgraded agent has replaced its file; running containers keep the old one.
TEST(MountTable, AFileThatWasReplaced) {
    auto mounts = guarded();
    mounts[2].root += "//deleted";
    EXPECT_TRUE(is_mounted_at(mounts, kPath, kList));
}

// Goal: an id that a faulty table has twice stands for no mount at another place.
TEST(MountTable, TheSameIdTwice) {
    const std::vector<MountEntry> mounts{{10, 1, "0:50", "/", "/a/longer/path/than/ours"},
                                         {10, 1, "0:51", "/image", "/"}};
    EXPECT_EQ(stored_at(mounts, kPath), (StoredAt{"0:51", "/image/etc/ld.so.preload"}));
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList));
}

TEST(MountTable, AnotherFileInItsPlace) {
    auto mounts = guarded();
    mounts[2].root = "/somewhere/else";
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList));
    mounts = guarded();
    mounts[2].device = "8:2";
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList));
    mounts.pop_back();
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList)) << "nothing of ours is mounted";
}

// Goal: a mounted file is found even if another mount covers it.
TEST(MountTable, AnywhereInTheTable) {
    auto mounts = guarded();
    EXPECT_TRUE(is_mounted_anywhere(mounts, kList));
    mounts.push_back({13, 12, "8:1", "/tenant/empty", kPath});
    mounts[2].root += "//deleted";
    EXPECT_TRUE(is_mounted_anywhere(mounts, kList));
    EXPECT_FALSE(is_mounted_anywhere(mounts, {kList.device, "/another"}));
    EXPECT_FALSE(is_mounted_anywhere(mounts, {"8:2", kList.path}));
    EXPECT_FALSE(is_mounted_anywhere({}, kList));
}

// Goal: a mount over ours, and a later one over a folder above it.
TEST(MountTable, CoveredMounts) {
    auto over = guarded();
    over.push_back({13, 12, "8:1", "/tenant/empty", kPath});
    EXPECT_FALSE(is_mounted_at(over, kPath, kList));
    auto above = guarded();
    above.push_back({13, 10, "0:60", "/", "/etc"});
    EXPECT_FALSE(is_mounted_at(above, kPath, kList));
}

// Goal: a volume below our mount covers nothing.
TEST(MountTable, AVolumeBelowOurs) {
    const std::vector<MountEntry> mounts = {{10, 1, "0:50", "/", "/"},
                                            {11, 10, "8:1", "/pods/empty-dir", "/etc"},
                                            {12, 11, "8:1", kList.path, kPath}};
    EXPECT_TRUE(is_mounted_at(mounts, kPath, kList));
    EXPECT_EQ(stored_at(mounts, "/etc/passwd"), (StoredAt{"8:1", "/pods/empty-dir/passwd"}));
}

TEST(MountTable, WhereAFileIsStored) {
    const std::vector<MountEntry> mounts = {
        {10, 1, "0:50", "/", "/"},
        {11, 10, "8:1", "/var/lib/tessera/guard", "/var/lib/tessera/guard"}};
    EXPECT_EQ(stored_at(mounts, "/var/lib/tessera/guard/ld.so.preload"), kList);
    EXPECT_EQ(stored_at(mounts, "/bin/sh"), (StoredAt{"0:50", "/bin/sh"}));
    EXPECT_FALSE(stored_at({}, "/bin/sh"));
}

// Goal: thousands of mounts over ours are rejected quickly, and ours does not count as visible.
TEST(MountTable, ThousandsOfMounts) {
    auto mounts = guarded();
    for (std::int64_t id = 13; id < 10'013; id++)
        mounts.push_back({id, id - 1, "8:1", "/tenant/empty", kPath});
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList));
    EXPECT_FALSE(stored_at(mounts, kPath));
    EXPECT_TRUE(stored_at(mounts, "/etc/passwd"));
}

// Goal: the check ends for a table with a cycle, and does not report our file as mounted.
TEST(MountTable, ACircle) {
    const std::vector<MountEntry> mounts = {
        {10, 11, "0:50", "/", "/"}, {11, 10, "0:50", "/", "/"}, {12, 12, "8:1", kList.path, kPath}};
    EXPECT_FALSE(is_mounted_at(mounts, kPath, kList));
}

}  // namespace
}  // namespace tessera
