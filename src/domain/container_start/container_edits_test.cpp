#include "domain/container_start/container_edits.hpp"

#include <gtest/gtest.h>

#include <map>

#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class ContainerEditsTest : public ::testing::Test {
  protected:
    ContainerEditsTest() : node_(build::node("n1", 2, gibibytes(16))) {
        node_.gpus[1].reserved = gibibytes(1);
        allocation_ = {PodUid("uid-p"), NodeName("n1"), &kGpushareDialect, {}};
        allocation_.containers = {
            {"prepare", ContainerKind::init, {share(0, 9)}},
            {"main", ContainerKind::app, {share(1, 4), share(0, 4)}},
            {"side", ContainerKind::app, {share(1, 2)}},
        };
    }
    GpuShare share(int index, int gib) const {
        return {node_.gpus[static_cast<std::size_t>(index)].uuid, index, gibibytes(gib), {}, false};
    }
    Result<GpuEdits> edits_for(const std::string& container) {
        return container_edits(allocation_, PodUid("uid-p"), NodeName("n1"), container, node_);
    }
    std::map<std::string, std::string> env_of(const std::string& container,
                                              bool sees_share = false) {
        const auto gpu_edits = edits_for(container);
        EXPECT_TRUE(gpu_edits) << gpu_edits.error().text;
        std::map<std::string, std::string> env(gpu_edits->env.begin(), gpu_edits->env.end());
        for (const auto& variable : size_env(allocation_, *find_container(allocation_, container),
                                             node_, gpu_edits->gpus, sees_share))
            env.insert(variable);
        return env;
    }
    void expect_refused(Code code, const std::string& part, const std::string& fix) {
        const auto gpu_edits = edits_for("main");
        ASSERT_FALSE(gpu_edits);
        EXPECT_EQ(gpu_edits.error().code, code);
        EXPECT_NE(gpu_edits.error().text.find(part), std::string::npos) << gpu_edits.error().text;
        EXPECT_NE(gpu_edits.error().text.find(fix), std::string::npos) << gpu_edits.error().text;
    }

    NodeInventory node_;
    Allocation allocation_;
};

// Goal: a container sees its own GPUs, by UUID, in the order of its shares. It also gets gpushare's
// variables: first GPU, sums of the pod (at its peak) and of the container, and the GPU's size.
TEST_F(ContainerEditsTest, EnvironmentOfAnAliyunContainer) {
    const auto env = env_of("main");
    EXPECT_EQ(env.at("NVIDIA_VISIBLE_DEVICES"), "GPU-n1-1,GPU-n1-0");
    EXPECT_EQ(env.at("TESSERA_GPU_MEMORY_BYTES"), "4294967296,4294967296");
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_POD"), "15");  // 9 on GPU 0, 4 + 2 on GPU 1
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_CONTAINER"), "8");
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_DEV"), "15");  // 16 minus the driver's reserve
    EXPECT_EQ(env_of("prepare").at("ALIYUN_COM_GPU_MEM_CONTAINER"), "9");
    EXPECT_EQ(env_of("side").at("NVIDIA_VISIBLE_DEVICES"), "GPU-n1-1");
    EXPECT_EQ(edits_for("main")->env.front().first, kVisibleDevices);
    EXPECT_EQ(edits_for("main")->gpus[0].minor, 1);
}

// Goal: each container gets its own GPU's index and size, and the pod's sum.
TEST_F(ContainerEditsTest, EachContainerNamesItsOwnGpu) {
    const std::map<std::string, std::pair<std::string, std::string>> gpus = {
        {"prepare", {"0", "16"}}, {"main", {"1", "15"}}, {"side", {"1", "15"}}};
    for (const auto& [container, gpu] : gpus) {
        const auto env = env_of(container);
        EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_IDX"), gpu.first) << container;
        EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_DEV"), gpu.second) << container;
        EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_POD"), "15") << container;
    }
}

// Goal: a pod of the native dialect gets none of gpushare's variables.
TEST_F(ContainerEditsTest, NativeContainersHaveNoAliyunVariables) {
    allocation_.dialect = &kNativeDialect;
    const auto env = env_of("main");
    EXPECT_EQ(env.size(), 3U);
    EXPECT_TRUE(env.contains("NVIDIA_VISIBLE_DEVICES"));
    EXPECT_TRUE(env.contains("TESSERA_GPU_MEMORY_BYTES"));
    EXPECT_TRUE(env.contains("TESSERA_GPU_VISIBLE_MEMORY_BYTES"));
}

// Goal: a program computes a fraction of the memory that it sees: of its share, if an enforcer
// shows the share as the GPU's memory, and of the whole GPU otherwise. That holds for Tessera's
// variables and for gpushare's, whose CONTAINER / DEV Arena's manifests use.
TEST_F(ContainerEditsTest, SizesAreThoseThatProgramsSee) {
    auto env = env_of("side");
    EXPECT_EQ(env.at("TESSERA_GPU_VISIBLE_MEMORY_BYTES"), std::to_string(16 * kGiB));
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_DEV"), "15");
    env = env_of("side", true);
    EXPECT_EQ(env.at("TESSERA_GPU_VISIBLE_MEMORY_BYTES"), std::to_string(2 * kGiB));
    EXPECT_EQ(env.at("TESSERA_GPU_MEMORY_BYTES"), std::to_string(2 * kGiB));
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_DEV"), "2");
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_CONTAINER"), "2");
    env = env_of("main", true);  // two GPUs
    EXPECT_EQ(env.at("TESSERA_GPU_VISIBLE_MEMORY_BYTES"),
              std::to_string(4 * kGiB) + "," + std::to_string(4 * kGiB));
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_CONTAINER"), "8");
    EXPECT_EQ(env.at("ALIYUN_COM_GPU_MEM_DEV"), "8");
}

// Goal: the GPU is found by UUID, not by its index at the time of the allocation (D-4).
TEST_F(ContainerEditsTest, IndexMayHaveChanged) {
    std::swap(node_.gpus[0].index, node_.gpus[1].index);
    EXPECT_EQ(env_of("side").at("NVIDIA_VISIBLE_DEVICES"), "GPU-n1-1");
    EXPECT_EQ(env_of("side").at("ALIYUN_COM_GPU_MEM_IDX"), "0");
}

// Goal: an allocation that was copied from another pod or node is refused.
TEST_F(ContainerEditsTest, ForeignAllocationIsRefused) {
    allocation_.pod = PodUid("uid-other");
    expect_refused(Code::conflict, "uid-other", "create the pod again");
    allocation_.pod = PodUid("uid-p");
    allocation_.node = NodeName("n2");
    expect_refused(Code::conflict, "n2", "create the pod again");
}

// Goal: a container that the allocation does not name gets no share of another container.
TEST_F(ContainerEditsTest, UnknownContainerIsRefused) {
    const auto gpu_edits = edits_for("debugger");
    ASSERT_FALSE(gpu_edits);
    EXPECT_EQ(gpu_edits.error().code, Code::not_found);
    EXPECT_NE(gpu_edits.error().text.find("debugger"), std::string::npos);
}

// Goal: a GPU that is gone or unhealthy is never silently replaced by another one.
TEST_F(ContainerEditsTest, GpuGoneOrSick) {
    node_.gpus[0].condition = GpuCondition::unhealthy;
    node_.gpus[0].reason = "Xid 79";
    expect_refused(Code::unavailable, "unhealthy: Xid 79", "delete the pod");
    node_.gpus.erase(node_.gpus.begin());
    expect_refused(Code::unavailable, "GPU-n1-0 is no longer on this node", "delete the pod");
}

}  // namespace
}  // namespace tessera
