// Goal: a node on which the guard cannot work is recognised before a container starts there.
#include "domain/container_start/host_support.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(HostSupport, Kernels) {
    for (const char* kernel : {"3.10.0-1160.el7.x86_64", "4.13.9", "4.4.0", "2.6.32"}) {
        const auto checked = check_host({.kernel = kernel, .selinux_label = {}});
        ASSERT_FALSE(checked) << kernel;
        EXPECT_NE(checked.error().text.find(kernel), std::string::npos);
        EXPECT_NE(checked.error().text.find("4.14"), std::string::npos);
    }
    for (const char* kernel : {"4.14.0", "4.18.0-553.el8", "5.10.0-30-amd64", "6.1", "", "unknown"})
        EXPECT_TRUE(check_host({.kernel = kernel, .selinux_label = {}})) << kernel;
}

TEST(HostSupport, Selinux) {
    const std::string kernel = "5.14.0";
    EXPECT_TRUE(check_host({kernel, false, "system_u:object_r:var_lib_t:s0"}));
    EXPECT_TRUE(check_host({kernel, true, kContainerFileLabel}));
    EXPECT_TRUE(check_host({kernel, true, "system_u:object_r:container_file_t:s0:c1,c2"}));
    for (const char* label : {"system_u:object_r:var_lib_t:s0", ""}) {
        const auto checked = check_host({kernel, true, label});
        ASSERT_FALSE(checked);
        EXPECT_NE(checked.error().text.find("spc_t"), std::string::npos);
    }
}

}  // namespace
}  // namespace tessera
