// Goal: the directory of a process's cgroup follows from /proc/PID/cgroup. Method: texts of both
// versions of cgroups, and texts that are none.
#include "gpusim/state/cgroups.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpusim {
namespace {

std::string directory_of(const std::string& text) {
    char path[kMaxCgroupPath] = {};
    switch (directory_of_cgroup(text.c_str(), path)) {
        case CgroupText::found:
            return path;
        case CgroupText::none:
            return "none";
        case CgroupText::too_long:
            break;
    }
    return "too long";
}

TEST(DirectoryOfCgroup, IsFoundInBothVersions) {
    const std::string longest(kMaxCgroupPath - sizeof "/sys/fs/cgroup" - 1, 'x');
    const struct {
        std::string text;
        std::string directory;
    } rows[] = {
        {"0::/kubepods.slice/cri-1.scope\n", "/sys/fs/cgroup/kubepods.slice/cri-1.scope"},
        {"0::/a:b\n", "/sys/fs/cgroup/a:b"},
        {"0::/\n", "/sys/fs/cgroup"},
        {"0::/last-without-line-end", "/sys/fs/cgroup/last-without-line-end"},
        {"12:memory:/pods/a\n5:cpu,cpuacct:/pods/b\n", "/sys/fs/cgroup/memory/pods/a"},
        {"5:cpu,cpuacct:/pods/b\n0::/unified\n3:memory:/pods/a\n", "/sys/fs/cgroup/memory/pods/a"},
        {"3:memory:/\n0::/unified\n", "/sys/fs/cgroup/memory"},
        {"5:cpu,cpuacct:/pods/b\n", "none"},
        {"4:memory_not:/pods\n", "none"},
        {"", "none"},
        {"\n\n", "none"},
        {"0\n", "none"},
        {"0:\n", "none"},
        {"0::/" + longest + "\n", "/sys/fs/cgroup/" + longest},
        {"0::/" + longest + "x\n", "too long"},
        {"9:hugetlb,memory:/pods/a\n", "/sys/fs/cgroup/memory/pods/a"},
        {"9:memory,hugetlb:/pods/a\n", "/sys/fs/cgroup/memory/pods/a"},
        {"9:hugetlb,,memory_not:/pods/a\n", "none"},
    };
    for (const auto& row : rows)
        EXPECT_EQ(directory_of(row.text), row.directory) << row.text;
}

}  // namespace
}  // namespace gpusim
