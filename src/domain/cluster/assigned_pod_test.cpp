#include "domain/cluster/assigned_pod.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

AssignedPod with_share(const GpuUuid& uuid, int index) {
    AssignedPod pod;
    pod.allocation = build::allocation(build::pod("p", build::aliyun(8)), "n",
                                       {{.uuid = uuid, .index = index, .memory = gibibytes(8)}});
    pod.allocated = allocated_by_gpu(pod.allocation.containers);
    return pod;
}

std::vector<std::int64_t> counted(const AssignedPod& pod, const NodeInventory& node) {
    std::vector<GpuState> states = empty_gpus(node.gpus);
    count_allocated(pod, node.gpus, states, 1);
    std::vector<std::int64_t> out;
    for (const GpuState& state : states)
        out.push_back(state.allocated.count / kGiB);
    return out;
}

// Goal: a pod counts on its GPU, whichever plugin served the node when it was placed. With
// gpushare's, the GPUs are known by index only.
TEST(CountAllocated, WhicheverPluginServesTheNode) {
    using Units = std::vector<std::int64_t>;
    const NodeInventory ours = build::node("n", 2, gibibytes(16));
    const NodeInventory old = build::legacy_node("n", 2, 16);
    const AssignedPod by_uuid = with_share(ours.gpus[1].uuid, 1);
    const AssignedPod by_index = with_share(uuid_of_index(1), 1);
    for (const AssignedPod& pod : {by_uuid, by_index}) {
        EXPECT_EQ(counted(pod, ours), (Units{0, 8}));
        EXPECT_EQ(counted(pod, old), (Units{0, 8}));
    }
}

// Goal: a GPU that was replaced is another one, also at the same index.
TEST(CountAllocated, NotOnAReplacedGpu) {
    const AssignedPod pod = with_share(GpuUuid("GPU-gone"), 1);
    EXPECT_EQ(counted(pod, build::node("n", 2, gibibytes(16))), (std::vector<std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace tessera
