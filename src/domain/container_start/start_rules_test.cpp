// Goal: a container without a share sees no GPU, whatever its image or pod sets, unless its
// namespace may. A share is refused if it could not be given to the container.
#include "domain/container_start/start_rules.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const Environment kNone = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
const StartRules kRules = {.unrestricted_namespaces = {"monitoring"}};

TEST(WithoutGpus, Table) {
    struct Row {
        std::vector<std::string> env;
        Environment expected;
    };
    for (const Row& row :
         std::vector<Row>{{{"PATH=/bin"}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES=all"}, kNone},
                          {{"NVIDIA_VISIBLE_DEVICES=GPU-1"}, kNone},
                          {{"NVIDIA_VISIBLE_DEVICES=0"}, kNone},
                          {{"NVIDIA_VISIBLE_DEVICES=void"}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES=none"}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES="}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES", "=x"}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES_X=all"}, {}},
                          {{"CUDA_VERSION=12.4.1"}, kNone},
                          {{"CUDA_VERSION=12.4.1", "NVIDIA_VISIBLE_DEVICES=none"}, {}},
                          {{"NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_VISIBLE_DEVICES=void"}, {}}}) {
        const auto env = environment_without_gpus({.name = "main"}, row.env, "team-a", kRules);
        ASSERT_TRUE(env);
        EXPECT_EQ(*env, row.expected) << row.env.front();
        EXPECT_EQ(environment_without_gpus({}, row.env, "monitoring", kRules), Environment{});
    }
}

TEST(WithoutGpus, WhatTheRuntimeWouldNotReplace) {
    const std::vector<std::string> twice = {"NVIDIA_VISIBLE_DEVICES=void",
                                            "NVIDIA_VISIBLE_DEVICES=all"};
    const auto refused = environment_without_gpus({.name = "main"}, twice, "team-a", kRules);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("main sets NVIDIA_VISIBLE_DEVICES 2 times"),
              std::string::npos);
    for (const char* path :
         {"/var/run/nvidia-container-devices/all", "/var/run//nvidia-container-devices/GPU-1/"}) {
        const ContainerSetup setup{.name = "main", .mounts = {{.destination = path, .source = {}}}};
        EXPECT_FALSE(environment_without_gpus(setup, {}, "team-a", kRules)) << path;
        EXPECT_TRUE(environment_without_gpus(setup, {}, "monitoring", kRules)) << path;
    }
}

TEST(WithoutGpus, NamesSingleGpus) {
    using Env = std::vector<std::string>;
    for (const char* value : {"GPU-1", "0", "all,GPU-1", "MIG-2"})
        EXPECT_TRUE(names_specific_gpus(Env{"NVIDIA_VISIBLE_DEVICES=" + std::string(value)}))
            << value;
    for (const char* value : {"all", "void", "none", ""})
        EXPECT_FALSE(names_specific_gpus(Env{"NVIDIA_VISIBLE_DEVICES=" + std::string(value)}))
            << value;
    EXPECT_FALSE(names_specific_gpus(Env{"CUDA_VERSION=12"}));
}

TEST(CheckSetup, HandlersAndPrivileges) {
    EXPECT_TRUE(check_setup({.name = "main"}, {}));
    EXPECT_TRUE(check_setup({.name = "main", .is_privileged = true}, {}));
    const auto refused =
        check_setup({.name = "main", .is_privileged = true}, {.refuse_privileged = true});
    EXPECT_EQ(refused.error().code, Code::permission_denied);
    EXPECT_TRUE(check_setup({.name = "main"}, {.refuse_privileged = true}));
    // A second way to request GPUs from NVIDIA's runtime, which overrides the environment.
    const ContainerMount asks{"/var/run/nvidia-container-devices/GPU-2", "/dev/null"};
    EXPECT_EQ(check_setup({.name = "main", .mounts = {asks}}, {}).error().code,
              Code::invalid_argument);
    EXPECT_EQ(check_setup({.name = "main", .runtime_handler = "kata-qemu"}, {}).error().code,
              Code::unsupported);
}

}  // namespace
}  // namespace tessera
