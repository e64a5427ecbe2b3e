// Goal: a root is complete or absent, and its CDI specification names what is in it.
#include "gpusim/ctl/driver_root.hpp"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include "gpusim/ctl/cdi.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace fs = std::filesystem;

namespace gpusim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DriverRoot, HasEveryFile) {
    const SimulatedNode node(kTwoGpus);
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "gpusim/gpus", "gpusim/locks",
                             "gpusim/memory", "gpusim/dev/nvidia1", "gpusim/dev/nvidia3"}) {
        EXPECT_TRUE(fs::is_regular_file(node.library(name))) << name;
    }
    for (const char* name : {"nvidia-cuda-mps-control", "nvidia-cuda-mps-server"}) {
        const fs::path program = node.root() / "usr/bin" / name;
        EXPECT_EQ(fs::status(program).permissions(), static_cast<fs::perms>(0755)) << name;
    }
    for (const char* name : {"libcuda.so", "libnvidia-ml.so"})
        EXPECT_EQ(fs::read_symlink(node.library(name)), std::string(name) + ".1");
    EXPECT_FALSE(fs::exists(node.library("gpusim/dev/nvidia0")));
    EXPECT_EQ(fs::status(node.library("gpusim/gpus")).permissions(), static_cast<fs::perms>(0666));
    EXPECT_EQ(fs::status(node.root()).permissions(), static_cast<fs::perms>(0755));
}

TEST(DriverRoot, RefusesToReplaceOne) {
    const SimulatedNode node(kTwoGpus);
    const fs::path libraries = node.root() / kLibraryDir;
    const auto again = create_root({node.gpus(), libraries, node.root()});
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error(), HasSubstr("exists already"));
}

TEST(DriverRoot, LeavesNothingBehindWhenItFails) {
    const SimulatedNode node(kTwoGpus);
    const fs::path parent = node.root() / "elsewhere";
    const auto made = create_root({node.gpus(), "/nowhere", parent / "driver"});
    ASSERT_FALSE(made);
    EXPECT_TRUE(fs::is_empty(parent));
}

TEST(DriverRoot, StateOfAnotherVersionIsRefused) {
    const SimulatedNode node(kTwoGpus);
    fs::resize_file(node.library("gpusim/gpus"), 100);
    const auto state = open_root(node.root(), Access::read_only);
    ASSERT_FALSE(state);
    EXPECT_THAT(state.error(), HasSubstr("another version"));
}

// JSON is YAML, so the YAML parser reads it.
TEST(Cdi, NamesDevicesByUuidIndexAndAll) {
    const SimulatedNode node(kTwoGpus);
    const State& state = node.state();
    const YAML::Node spec = YAML::Load(cdi_spec(*state.file, node.root()));
    EXPECT_EQ(spec["cdiVersion"].Scalar(), "0.6.0");
    EXPECT_EQ(spec["kind"].Scalar(), "nvidia.com/gpu");
    std::vector<std::string> names;
    for (const YAML::Node& device : spec["devices"])
        names.push_back(device["name"].Scalar());
    EXPECT_THAT(names, ElementsAre(node.gpus()[0].uuid, "0", node.gpus()[1].uuid, "1", "all"));
    const YAML::Node all = spec["devices"][4]["containerEdits"]["mounts"];
    EXPECT_EQ(all.size(), 2U);
    const YAML::Node mount = spec["devices"][0]["containerEdits"]["mounts"][0];
    EXPECT_EQ(mount["hostPath"].Scalar(), node.library("gpusim/dev/nvidia3").string());
    EXPECT_EQ(mount["containerPath"].Scalar(), "/usr/lib/x86_64-linux-gnu/gpusim/dev/nvidia3");
}

TEST(Cdi, StateIsWritableAndLibrariesAreNot) {
    const SimulatedNode node(kTwoGpus);
    const State& state = node.state();
    const YAML::Node spec = YAML::Load(cdi_spec(*state.file, node.root()));
    std::vector<std::string> mounts;
    for (const YAML::Node& mount : spec["containerEdits"]["mounts"]) {
        EXPECT_TRUE(fs::exists(mount["hostPath"].Scalar()));
        mounts.push_back(fs::path(mount["containerPath"].Scalar()).filename().string() + " " +
                         mount["options"][0].Scalar());
    }
    EXPECT_THAT(mounts, ElementsAre("libcuda.so.1 ro", "libnvidia-ml.so.1 ro", "gpus rw",
                                    "locks rw", "memory rw"));
}

}  // namespace
}  // namespace gpusim
