#include "domain/health/driver_release.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the agent closes the driver while an administrator requests it, and while the GPU Operator
// replaces the driver. At other times it does not, because the node would lose its GPUs needlessly.
TEST(DriverRelease, Table) {
    const std::string ours(kReleaseDriverLabel);
    const std::string state(kUpgradeStateLabel);
    const auto label = [](const std::map<std::string, std::string, std::less<>>& labels) {
        return driver_release_label(labels);
    };
    EXPECT_EQ(label({}), "");
    EXPECT_EQ(label({{"kubernetes.io/hostname", "n"}}), "");
    EXPECT_EQ(label({{ours, "true"}}), "tessera.dev/release-driver=true");
    for (const char* value : {"false", "", "True", "yes"})
        EXPECT_EQ(label({{ours, value}}), "") << value;
    for (const char* value :
         {"pod-deletion-required", "drain-required", "node-maintenance-required",
          "post-maintenance-required", "pod-restart-required", "upgrade-failed"})
        EXPECT_EQ(label({{state, value}}),
                  "nvidia.com/gpu-driver-upgrade-state=" + std::string(value));
    for (const char* value : {"", "upgrade-required", "cordon-required", "wait-for-jobs-required",
                              "validation-required", "uncordon-required", "upgrade-done", "new"})
        EXPECT_EQ(label({{state, value}}), "") << value;
    EXPECT_EQ(label({{ours, "true"}, {state, "drain-required"}}),
              "tessera.dev/release-driver=true");
}

}  // namespace
}  // namespace tessera
