#include "domain/workload/pod_flags.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::workload {
namespace {

PodFlags flags() {
    PodFlags out;
    out.image = "image:1";
    return out;
}

// Goal: each flag becomes the field of the pod that it names.
TEST(PodFlags, Read) {
    PodFlags given = flags();
    given.cpu = "500m";
    given.memory = "2Gi";
    given.devices = {"example.com/fpga=1"};
    given.env = {"A=1", "B=x=y", "A=2", "EMPTY="};
    given.env_from_secret = {"HF_TOKEN=hugging-face"};
    given.data = {"models:/models", "logs:/logs"};
    given.data_subpath_expr = {"models:v1"};
    given.data_dir = {"/data", "/a:/b"};
    given.temp_dir = {"cache:/cache"};
    given.labels = {"team=a"};
    given.tolerations = {"all"};
    given.command = "echo $(date) $HOME";
    const auto pod = read_pod_flags(given, "other");
    ASSERT_TRUE(pod) << pod.error().text;
    EXPECT_EQ(pod->image, "image:1");
    EXPECT_EQ(pod->limits,
              (StringMap{{"cpu", "500m"}, {"example.com/fpga", "1"}, {"memory", "2Gi"}}));
    EXPECT_EQ(pod->env, (std::vector<EnvVar>{{"B", "x=y"},
                                             {"A", "2"},
                                             {"EMPTY", ""},
                                             {"HF_TOKEN", "", "hugging-face"},
                                             {"NVIDIA_VISIBLE_DEVICES", "void"}}));
    EXPECT_EQ(pod->mounts, (std::vector<Mount>{{VolumeKind::claim, "models", "/models", "v1"},
                                               {VolumeKind::claim, "logs", "/logs"},
                                               {VolumeKind::host, "/data", "/data"},
                                               {VolumeKind::host, "/a", "/b"},
                                               {VolumeKind::temporary, "cache", "/cache"}}));
    EXPECT_EQ(pod->labels, (StringMap{{"team", "a"}}));
    EXPECT_EQ(pod->tolerations, (std::vector<Toleration>{{.key = "", .op = "Exists"}}));
    // Kubelet makes "$" of "$$", so the shell gets the text as it was given.
    EXPECT_EQ(pod->command, (std::vector<std::string>{"sh", "-c", "echo $$(date) $$HOME"}));
    EXPECT_EQ(read_pod_flags(PodFlags{}, "other")->image, "other");
}

TEST(PodFlags, Tolerations) {
    EXPECT_EQ(parse_toleration("gpu"), (Toleration{"gpu", "Exists"}));
    EXPECT_EQ(parse_toleration("gpu:NoSchedule"), (Toleration{"gpu", "Exists", "", "NoSchedule"}));
    EXPECT_EQ(parse_toleration("gpu=a:NoExecute"), (Toleration{"gpu", "Equal", "a", "NoExecute"}));
    EXPECT_EQ(parse_toleration("gpu=a:NoSchedule,Equal"),
              (Toleration{"gpu", "Equal", "a", "NoSchedule"}));
    EXPECT_EQ(parse_toleration("gpu=:NoSchedule,Exists"),
              (Toleration{"gpu", "Exists", "", "NoSchedule"}));
    for (const char* text : {"", "=a", "gpu=a:Never", "gpu=a:NoSchedule,Is", ":NoSchedule"})
        EXPECT_FALSE(parse_toleration(text)) << text;
}

// Goal: a mistake is refused with the flag, the text and a form that works.
TEST(PodFlags, Mistakes) {
    const auto refusal = [](void (*change)(PodFlags&)) {
        PodFlags given = flags();
        change(given);
        const auto pod = read_pod_flags(given, "");
        return pod ? std::string() : pod.error().text;
    };
    const auto expect = [&](const std::string& part, void (*change)(PodFlags&)) {
        const std::string text = refusal(change);
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    };
    expect("--image: is missing", [](PodFlags& given) { given.image = ""; });
    expect("--image-pull-policy: \"often\" is not Always",
           [](PodFlags& given) { given.image_pull_policy = "often"; });
    expect("--env: \"A\" is not NAME=VALUE", [](PodFlags& given) { given.env = {"A"}; });
    expect("--env: \"1A=2\" does not begin", [](PodFlags& given) { given.env = {"1A=2"}; });
    expect("--env-from-secret: \"A=B C\"",
           [](PodFlags& given) { given.env_from_secret = {"A=B C"}; });
    expect("--data: \"models\" is not a name and an absolute path, such as models:/models",
           [](PodFlags& given) { given.data = {"models"}; });
    expect("--data: \"models:/\"", [](PodFlags& given) { given.data = {"models:/"}; });
    expect("--data: \"a:/b:/c\"", [](PodFlags& given) { given.data = {"a:/b:/c"}; });
    expect("--data: \"A_B:/b\"", [](PodFlags& given) { given.data = {"A_B:/b"}; });
    expect("--data-subpath-expr: \"x:y\" does not name a claim of --data",
           [](PodFlags& given) { given.data_subpath_expr = {"x:y"}; });
    expect("--data-dir: \"data\"", [](PodFlags& given) { given.data_dir = {"data"}; });
    expect("--temp-dir: \"X:/y\"", [](PodFlags& given) { given.temp_dir = {"X:/y"}; });
    expect("--device: \"nvidia.com/gpu=1\" is requested by --gpus",
           [](PodFlags& given) { given.devices = {"nvidia.com/gpu=1"}; });
    expect("--device: \"aliyun.com/gpu-mem=1\" is requested by --gpumemory",
           [](PodFlags& given) { given.devices = {"aliyun.com/gpu-mem=1"}; });
    expect("--cpu: ", [](PodFlags& given) { given.cpu = "two"; });
    expect("--memory: ", [](PodFlags& given) { given.memory = "2GB"; });
    expect("--share-memory: ", [](PodFlags& given) { given.share_memory = "-1"; });
    expect("--selector: \"a\" is not NAME=VALUE", [](PodFlags& given) { given.selectors = {"a"}; });
}

// Goal: images with CUDA show all GPUs of the node to a container that requests none, unless the
// pod says otherwise. Where something gives it a GPU, the pod must not say so.
TEST(PodFlags, WithoutAGpuNoneIsVisible) {
    const auto visible = [](const PodFlags& flags) {
        const PodTemplate pod = read_pod_flags(flags, "image").value();
        const auto at = std::ranges::find(pod.env, "NVIDIA_VISIBLE_DEVICES", &EnvVar::name);
        return at == pod.env.end() ? "" : at->value;
    };
    PodFlags flags;
    EXPECT_EQ(visible(flags), "void");
    flags.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    EXPECT_EQ(visible(flags), "all");
    flags.env.clear();
    flags.devices = {"example.com/gpu=1"};
    EXPECT_EQ(visible(flags), "");
    flags.devices = {"rdma/hca=1"};
    EXPECT_EQ(visible(flags), "void");
    flags.devices = {"rdma/hca=1", "nvidia.com/mig-1g.10gb=1"};
    EXPECT_EQ(visible(flags), "");
    flags.devices.clear();
    flags.gpu.gpumemory = "3";
    EXPECT_EQ(visible(flags), "");
    flags.gpu = {.gpus = 1};
    EXPECT_EQ(visible(flags), "");
}

}  // namespace
}  // namespace tessera::workload
