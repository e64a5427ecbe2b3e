// Goal: the mounts of a real table are read unchanged; a line of an unknown format is an error.
#include "wire/node/mountinfo.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Mountinfo, Reads) {
    const auto mounts = read_mountinfo(
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
        "40 36 0:21 / /a\\040b\\134c ro - tmpfs tmpfs ro\n"
        "41 36 8:1 /guard/ld.so.preload//deleted /etc/ld.so.preload ro - ext4 /dev/vda rw\n");
    ASSERT_TRUE(mounts) << mounts.error().text;
    ASSERT_EQ(mounts->size(), 3U);
    EXPECT_EQ(mounts->at(0), (MountEntry{36, 35, "98:0", "/mnt1", "/mnt2"}));
    EXPECT_EQ(mounts->at(1).mount_point, "/a b\\c");
    EXPECT_EQ(mounts->at(2).root, "/guard/ld.so.preload//deleted");
    EXPECT_TRUE(read_mountinfo("")->empty());
}

TEST(Mountinfo, RefusesOtherForms) {
    for (const char* text : {"\n", "36 35 98:0 /mnt1", "x 35 98:0 / / rw", "36 -1 98:0 / / rw",
                             "36  35 98:0 / / rw", "36 35 98:0 / / rw\nrubbish"})
        EXPECT_FALSE(read_mountinfo(text)) << text;
    EXPECT_NE(read_mountinfo("36 35 98:0 / / rw\nrubbish").error().text.find("line 2"),
              std::string::npos);
}

// Goal: a backslash that does not begin an octal number is kept.
TEST(Mountinfo, Escapes) {
    const auto mounts = read_mountinfo("1 0 8:1 / /a\\09\\04 rw\n2 1 8:1 / /\\ rw");
    ASSERT_TRUE(mounts);
    EXPECT_EQ(mounts->at(0).mount_point, "/a\\09\\04");
    EXPECT_EQ(mounts->at(1).mount_point, "/\\");
}

}  // namespace
}  // namespace tessera
