// Goal: a runtime that starts containers without the GPU is recognised by its version, in any
// spelling of a distribution. The message says which version works.
#include "domain/container_start/runtime_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "domain/container_start/start_rules.hpp"

namespace tessera {
namespace {

TEST(CdiFromNri, Table) {
    struct Row {
        const char* name;
        const char* version;
        bool works;
    };
    for (const Row& row : std::vector<Row>{
             {"containerd", "v2.0.5", false},
             {"containerd", "2.0.0", false},
             {"containerd", "v2.0.7-k3s1", false},
             {"containerd", "2.0", false},
             {"containerd", "1.7.29", false},
             {"containerd", "1.7.27-0ubuntu1~22.04.1", false},
             {"containerd", "1.7.2~ds1", false},
             {"containerd", "1.6.20~ds1", false},
             {"containerd", "1.8.0", false},  // there is no such release; 2.0 came after 1.7
             {"containerd", "1.7.30", true},
             {"containerd", "v1.7.31", true},
             {"containerd", "v2.1.0", true},
             {"containerd", "v2.1.0-rc.1", true},
             {"containerd", "v2.3.7", true},
             {"containerd", "3.0.0", true},
             {"cri-o", "1.33.9", false},
             {"CRI-O", "1.31.2", false},
             {"cri-o", "1.34.0", true},
             {"cri-o", "1.35.1+git", true},
             {"cri-o", "2.0.0", true},
             // Not in the table, or no version: what the container received is checked when it
             // starts.
             {"containerd", "", true},
             {"containerd", "unknown", true},
             {"containerd", "v2", true},
             {"containerd", "2.x.1", true},
             {"containerd", "2.99999999999.0", true},
             {"docker", "27.0.1", true},
             {"", "", true}}) {
        EXPECT_EQ(check_cdi_from_nri(row.name, row.version).has_value(), row.works)
            << row.name << " " << row.version;
    }
}

TEST(CdiFromNri, SaysWhatToDo) {
    const std::string text = check_cdi_from_nri("containerd", "v2.0.5").error().text;
    EXPECT_NE(text.find("containerd v2.0.5 ignores CDI devices"), std::string::npos);
    EXPECT_NE(text.find("1.7 from 1.7.30; 2.1.0 or later"), std::string::npos);
    EXPECT_NE(text.find("identity to kubelet"), std::string::npos);
}

TEST(RuntimeHandler, Table) {
    for (const char* name : {"runsc", "gvisor", "gVisor", "kata", "kata-qemu", "kata-clh", "krun"})
        EXPECT_EQ(check_runtime_handler(name, StartRules().sandboxed_handlers).error().code,
                  Code::unsupported)
            << name;
    for (const char* name : {"", "runc", "crun", "nvidia", "nvidia-cdi", "default"})
        EXPECT_TRUE(check_runtime_handler(name, StartRules().sandboxed_handlers)) << name;
    const std::array<std::string, 2> named = {"Confidential", ""};
    EXPECT_FALSE(check_runtime_handler("confidential-qemu", named));
    EXPECT_TRUE(check_runtime_handler("kata", named));
    EXPECT_TRUE(check_runtime_handler("kata", {}));
}

TEST(CdiKind, Table) {
    for (const char* kind : {"nvidia.com/gpu", "k8s.device-plugin.nvidia.com/gpu", "a/b-c_d"})
        EXPECT_TRUE(is_cdi_kind(kind)) << kind;
    for (const char* kind : {"", "gpu", "/gpu", "nvidia.com/", "a/b/c", "a/b=c", "a b/c"})
        EXPECT_FALSE(is_cdi_kind(kind)) << kind;
}

TEST(ReadsVisibleDevices, Table) {
    const std::array<std::string, 2> handlers = {"nvidia", "default"};
    EXPECT_TRUE(reads_visible_devices("nvidia", handlers));
    EXPECT_TRUE(reads_visible_devices("", handlers));
    EXPECT_FALSE(reads_visible_devices("runc", handlers));
    EXPECT_FALSE(reads_visible_devices("", std::span(handlers).first(1)));
}

}  // namespace
}  // namespace tessera
