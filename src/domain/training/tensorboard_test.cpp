#include "domain/training/tensorboard.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

Training job(const std::vector<Mount>& mounts) {
    Training out;
    out.name = "train";
    out.roles.push_back({.name = "worker", .pod = {}});
    PodTemplate& pod = out.roles.front().pod;
    pod.pull_policy = "Always";
    pod.pull_secrets = {"registry"};
    pod.gpus.whole = 1;
    pod.tolerations = {{.key = "team", .op = "Exists"}};
    pod.mounts = mounts;
    return out;
}

std::string error_of(const TensorboardFlags& flags, const std::vector<Mount>& mounts) {
    Training made = job(mounts);
    const auto done = add_tensorboard(flags, made);
    EXPECT_EQ(made.tensorboard.has_value(), done && flags.wanted);
    return done ? "none" : done.error().text;
}

// Goal: TensorBoard reads the folder that the job writes, and has no GPU.
TEST(Tensorboard, Pod) {
    Training made = job({{VolumeKind::claim, "logs", "/training_logs"}});
    ASSERT_TRUE(add_tensorboard({.wanted = true, .image = {}, .logdir = {}}, made));
    const PodTemplate& pod = made.tensorboard.value();
    EXPECT_EQ(pod.image, kTensorboardImage);
    EXPECT_EQ(pod.command, (std::vector<std::string>{"tensorboard", "--logdir", "/training_logs",
                                                     "--host", "0.0.0.0", "--port", "6006"}));
    ASSERT_EQ(pod.mounts.size(), 1U);
    EXPECT_TRUE(pod.mounts[0].read_only);
    EXPECT_EQ(pod.mounts[0].source, "logs");
    EXPECT_EQ(pod.gpus, Gpus{});
    EXPECT_EQ(pod.env.front().value, "void");
    EXPECT_EQ(pod.pull_secrets, (std::vector<std::string>{"registry"}));
    EXPECT_EQ(pod.pull_policy, "Always");
    EXPECT_EQ(pod.tolerations.size(), 2U);
    EXPECT_EQ(tensorboard_name("train"), "train-tensorboard");
}

// Goal: the innermost mount that has the folder counts.
TEST(Tensorboard, Mounts) {
    const auto source = [](const std::string& logdir, const std::vector<Mount>& mounts) {
        Training made = job(mounts);
        const auto done =
            add_tensorboard({.wanted = true, .image = "tb:1", .logdir = logdir}, made);
        return done ? made.tensorboard->mounts[0].source : "refused";
    };
    const Mount data{VolumeKind::claim, "data", "/data"};
    const Mount host{VolumeKind::host, "/srv/logs", "/data/logs/"};
    const Mount temporary{VolumeKind::temporary, "tmp", "/data/tmp"};
    EXPECT_EQ(source("/data/run1/", {data, host}), "data");
    EXPECT_EQ(source("/data/logs/run1", {data, host}), "/srv/logs");
    EXPECT_EQ(source("/data/logs", {host, data}), "/srv/logs");
    EXPECT_EQ(source("/data/logs2", {data, host}), "data");
    EXPECT_EQ(source("/data/tmp/x", {data, temporary}), "refused");
    EXPECT_EQ(source("/database", {data}), "refused");
    EXPECT_EQ(source("/", {data}), "refused");
}

TEST(Tensorboard, Mistakes) {
    EXPECT_EQ(error_of({}, {}), "none");
    EXPECT_EQ(error_of({.wanted = false, .image = "x", .logdir = {}}, {}),
              "--tensorboard-image: needs --tensorboard");
    EXPECT_EQ(error_of({.wanted = false, .image = {}, .logdir = "/x"}, {}),
              "--logdir: needs --tensorboard");
    EXPECT_EQ(error_of({.wanted = true, .image = {}, .logdir = {}}, {}),
              "--logdir: /training_logs is not on a volume that TensorBoard can share; mount one "
              "there, as in --data CLAIM:/training_logs, or name a folder on a volume");
    for (const char* bad : {"logs", "/", "/a/../b", "/a//b"}) {
        EXPECT_NE(error_of({.wanted = true, .image = {}, .logdir = bad}, {})
                      .find("is not the absolute path of a folder"),
                  std::string::npos)
            << bad;
    }
    Mount each{VolumeKind::claim, "logs", "/logs"};
    each.sub_path_expr = "$(JOB_COMPLETION_INDEX)";
    EXPECT_NE(error_of({.wanted = true, .image = {}, .logdir = "/logs"}, {each})
                  .find("each pod has a folder of its own"),
              std::string::npos);
}

}  // namespace
}  // namespace tessera::workload
