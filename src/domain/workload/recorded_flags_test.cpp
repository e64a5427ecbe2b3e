#include "domain/workload/recorded_flags.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

using Flags = RecordedFlags;

TEST(RecordedFlags, LaterFlagsReplace) {
    EXPECT_EQ(merged_flags({"--name=a", "--replicas=1"}, {"--replicas=2"}),
              (Flags{"--name=a", "--replicas=2"}));
    EXPECT_EQ(merged_flags({"--name=a", "--cpu=1", "--memory=2Gi"}, {"--cpu="}),
              (Flags{"--name=a", "--memory=2Gi"}));
    EXPECT_EQ(merged_flags({"--command=a=b"}, {}), (Flags{"--command=a=b"}));
}

// Goal: entries of a list replace those with the same key, and the others stay.
TEST(RecordedFlags, Lists) {
    EXPECT_EQ(merged_flags({"--env=A=1", "--env=B=2"}, {"--env=A=3", "--env=C=4"}),
              (Flags{"--env=B=2", "--env=A=3", "--env=C=4"}));
    EXPECT_EQ(merged_flags({"--data=a:/x", "--data=b:/y"}, {"--data=c:/x"}),
              (Flags{"--data=b:/y", "--data=c:/x"}));
    EXPECT_EQ(merged_flags({"--config-file=m:/etc/m"}, {"--config-file=n:/etc/m"}),
              (Flags{"--config-file=n:/etc/m"}));
    EXPECT_EQ(merged_flags({"--env=A=1", "--env=B=2", "--cpu=1"}, {"--env="}), (Flags{"--cpu=1"}));
    EXPECT_EQ(merged_flags({"--env=A=1"}, {"--env=", "--env=B=2"}), (Flags{"--env=B=2"}));
    EXPECT_EQ(merged_flags({"--toleration=all"}, {"--toleration=all", "--toleration=x"}),
              (Flags{"--toleration=all", "--toleration=x"}));
}

TEST(RecordedFlags, FlagsThatExcludeEachOther) {
    EXPECT_EQ(merged_flags({"--gpumemory=3", "--gpucore=20"}, {"--gpus=1"}), (Flags{"--gpus=1"}));
    EXPECT_EQ(merged_flags({"--gpus=1"}, {"--gpumemory=3"}), (Flags{"--gpumemory=3"}));
    EXPECT_EQ(merged_flags({"--model-name=m", "--model-path=/m", "--version-policy=all"},
                           {"--model-config-file=/c"}),
              (Flags{"--model-config-file=/c"}));
    EXPECT_EQ(merged_flags({"--model-config-file=/c"}, {"--model-name=m", "--model-path=/m"}),
              (Flags{"--model-name=m", "--model-path=/m"}));
    EXPECT_EQ(merged_flags({"--gpumemory=3"}, {"--gpus=0"}), (Flags{"--gpumemory=3", "--gpus=0"}));
    // An empty value chooses nothing.
    EXPECT_EQ(merged_flags({"--gpumemory=3"}, {"--gpus="}), (Flags{"--gpumemory=3"}));
}

// Goal: without autoscaling its other flags are dropped, but for those that are given now.
TEST(RecordedFlags, WithoutAutoscaling) {
    const Flags scaled{"--replicas=2", "--min-replicas=2", "--max-replicas=4",
                       "--target-gpu-use=60", "--scale-down-delay=10"};
    EXPECT_EQ(merged_flags({"--target-request-rate=9"}, {"--max-replicas=0"}),
              (Flags{"--max-replicas=0"}));
    EXPECT_EQ(merged_flags(scaled, {"--max-replicas=0"}),
              (Flags{"--replicas=2", "--max-replicas=0"}));
    EXPECT_EQ(merged_flags(scaled, {"--max-replicas=5"}),
              (Flags{"--replicas=2", "--min-replicas=2", "--target-gpu-use=60",
                     "--scale-down-delay=10", "--max-replicas=5"}));
    EXPECT_EQ(merged_flags(scaled, {"--max-replicas=0", "--target-gpu-use=50"}),
              (Flags{"--replicas=2", "--max-replicas=0", "--target-gpu-use=50"}));
}

TEST(RecordedFlags, Words) {
    EXPECT_EQ(merged_flags({"--name=a", "--", "python", "--x=1"}, {"--cpu=1"}),
              (Flags{"--name=a", "--cpu=1", "--", "python", "--x=1"}));
    EXPECT_EQ(merged_flags({"--name=a", "--", "python"}, {"--", "ruby"}),
              (Flags{"--name=a", "--", "ruby"}));
    EXPECT_EQ(merged_flags({"--", "python"}, {"--command=x"}), (Flags{"--command=x"}));
    EXPECT_EQ(merged_flags({"--command=x"}, {"--", "python"}), (Flags{"--", "python"}));
}

TEST(RecordedFlags, WithoutTheCommand) {
    EXPECT_EQ(flags_of({"serve", "tensorflow", "--name=a", "--", "x"}),
              (Flags{"--name=a", "--", "x"}));
    EXPECT_EQ(flags_of({}), Flags{});
}

}  // namespace
}  // namespace tessera::workload
