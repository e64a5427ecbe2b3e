#include "app/agent/inventory/device_lists.hpp"

#include <gtest/gtest.h>

#include <set>

#include "domain/dialect/gpu_manager.hpp"
#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

const std::string kSlots(resource::kGpuShare);
const std::string kWhole(resource::kGpu);
const std::string kAliyun(resource::kAliyunMem);
const std::string kVcudaCore(resource::kVcudaCore);
const std::string kVcudaMemory(resource::kVcudaMemory);

// Goal: whole GPUs, slots and units of every GPU, in the order of GPUs. The ids have gpushare's own
// form, so that kubelet's checkpoint stays readable when Tessera takes a node over.
TEST(DeviceLists, Ids) {
    NodeInventory node = build::node("n", 2, gibibytes(16));
    node.gpus[1].reserved = mebibytes(512);
    node.gpus[1].condition = GpuCondition::unhealthy;
    const auto lists = device_lists(node, {.slots_per_gpu = 3});
    ASSERT_EQ(lists.size(), 5U);
    EXPECT_EQ(lists.at(kWhole),
              (std::vector<PluginDevice>{{"GPU-n-0-gpu-0", true}, {"GPU-n-1-gpu-0", false}}));
    const auto& slots = lists.at(kSlots);
    ASSERT_EQ(slots.size(), 6U);
    EXPECT_EQ(slots[0], (PluginDevice{"GPU-n-0-slot-0", true}));
    EXPECT_EQ(slots[5], (PluginDevice{"GPU-n-1-slot-2", false}));
    const auto& units = lists.at(kAliyun);
    ASSERT_EQ(units.size(), 16U + 15U) << "memory that the driver reserves is not offered";
    EXPECT_EQ(units[0], (PluginDevice{"GPU-n-0-_-0", true}));
    EXPECT_EQ(units.back(), (PluginDevice{"GPU-n-1-_-14", false}));
    const auto& cores = lists.at(kVcudaCore);
    ASSERT_EQ(cores.size(), 200U);
    EXPECT_EQ(cores.front(), (PluginDevice{"GPU-n-0-vcuda-core-0", true}));
    EXPECT_EQ(cores.back(), (PluginDevice{"GPU-n-1-vcuda-core-99", false}));
    const auto& memory = lists.at(kVcudaMemory);
    ASSERT_EQ(memory.size(), 64U + 62U) << "256 MiB each";
    EXPECT_EQ(memory.front(), (PluginDevice{"GPU-n-0-vcuda-memory-0", true}));
    EXPECT_EQ(memory.back(), (PluginDevice{"GPU-n-1-vcuda-memory-61", false}));
}

// Goal: the node's sums are those of gpu-manager. Its sum for GPUs of 143771 MiB rounds once; ours
// rounds for each GPU, because no share is on two. The list for eight of them fits into a message
// of kubelet.
TEST(DeviceLists, AsGpuManager) {
    const NodeInventory node = build::node("n", 8, mebibytes(143771));
    const auto lists = device_lists(node, {});
    EXPECT_EQ(lists.at(kVcudaCore).size(), 800U);
    EXPECT_EQ(lists.at(kVcudaMemory).size(), 8U * 561U);
    EXPECT_TRUE(check_list_sizes(node, {}));
    EXPECT_EQ(plugin_sockets(all_dialects()).at(kVcudaCore), "vcore.sock");
    EXPECT_EQ(plugin_sockets(all_dialects()).at(kVcudaMemory), "vmemory.sock");
}

// Goal: the same list as gpushare's plugin sent for two GPUs of 16276 MiB (its recording: 30
// devices, first and last id).
TEST(DeviceLists, AsGpushare) {
    NodeInventory node = build::node("n", 2, mebibytes(16276));
    node.gpus[0].uuid = GpuUuid("GPU-aaaaaaaa-0000-0000-0000-000000000000");
    node.gpus[1].uuid = GpuUuid("GPU-bbbbbbbb-0000-0000-0000-000000000001");
    const auto lists = device_lists(node, {});
    const auto& devices = lists.at(kAliyun);
    ASSERT_EQ(devices.size(), 30U);
    EXPECT_EQ(devices.front().id, "GPU-aaaaaaaa-0000-0000-0000-000000000000-_-0");
    EXPECT_EQ(devices.back().id, "GPU-bbbbbbbb-0000-0000-0000-000000000001-_-14");
}

// Goal: ids never change while the GPU is the same. Method: health, order, the size of other GPUs
// and their number change; the ids of one GPU do not.
TEST(DeviceLists, IdsAreStable) {
    const auto ids_of_gpu_1 = [](const NodeInventory& node) {
        std::set<std::string> ids;
        for (const auto& [resource, devices] : device_lists(node, {})) {
            for (const PluginDevice& device : devices) {
                if (device.id.starts_with("GPU-n-1-")) ids.insert(device.id);
            }
        }
        return ids;
    };
    NodeInventory node = build::node("n", 2, gibibytes(16));
    const auto before = ids_of_gpu_1(node);
    EXPECT_EQ(before.size(), 64U + 16U + 1U + 100U + 64U);
    node.gpus[1].condition = GpuCondition::unhealthy;
    node.gpus[1].index = 0;
    node.gpus[1].minor = 9;
    node.gpus[0] = build::gpu("other", 1, gibibytes(80));
    std::swap(node.gpus[0], node.gpus[1]);
    EXPECT_EQ(ids_of_gpu_1(node), before);
}

// Goal: kubelet refuses ids above 63 characters. Method: the driver's longest form of a UUID, the
// most slots, and MiB on a large GPU.
TEST(DeviceLists, IdsAreShortAndDistinct) {
    NodeInventory node = build::node("n", 1, gibibytes(192));
    node.gpus[0].uuid = GpuUuid("GPU-8f6c2f0e-1111-2222-3333-0123456789ab");
    node.unit = MemoryUnit::mib;
    for (const auto& [resource, devices] : device_lists(node, {.slots_per_gpu = 1000})) {
        std::set<std::string> distinct;
        for (const PluginDevice& device : devices) {
            EXPECT_LE(device.id.size(), 63U) << device.id;
            EXPECT_TRUE(distinct.insert(device.id).second) << device.id;
        }
    }
}

// Goal: totals for people and quotas. Unhealthy GPUs count, because kubelet compares the totals
// with what pods use already.
TEST(NodeAmounts, Sums) {
    NodeInventory node = build::node("n", 2, gibibytes(16));
    node.gpus[0].condition = GpuCondition::unhealthy;
    node.gpus[1].reserved = gibibytes(1);
    const auto amounts = node_amounts(node, all_dialects());
    EXPECT_EQ(amounts.at("tessera.dev/gpu-memory"), std::to_string(31 * kGiB));
    EXPECT_EQ(amounts.at("tessera.dev/gpu-cores"), "200");
    EXPECT_EQ(amounts.at("aliyun.com/gpu-count"), "2");
    EXPECT_EQ(node_amounts(build::node("n", 0, {}), all_dialects()).at("aliyun.com/gpu-count"),
              "0");
}

// Goal: a list that kubelet would not receive is refused with the numbers and the fix; gpushare
// showed 0 (D-6). Method: the largest that fits, and 8 GPUs of 80 GiB in MiB.
TEST(CheckListSizes, RefusesWhatKubeletWouldNotTake) {
    NodeInventory node = build::node("n", 8, gibibytes(80));
    for (Gpu& gpu : node.gpus)
        gpu.uuid = GpuUuid("GPU-8f6c2f0e-1111-2222-3333-01234567890" + std::to_string(gpu.index));
    EXPECT_TRUE(check_list_sizes(node, {}));
    node.unit = MemoryUnit::mib;
    const auto refused = check_list_sizes(node, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    for (const char* part : {"655360 devices", "aliyun.com/gpu-mem", "memory_unit to GiB",
                             "4193280", "tessera.dev/gpu-memory"})
        EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;

    const NodeInventory many = build::node("n", 128, gibibytes(8));
    EXPECT_TRUE(check_list_sizes(many, {}));
    const auto too_many_slots = check_list_sizes(many, {.slots_per_gpu = 1000});
    ASSERT_FALSE(too_many_slots);
    EXPECT_TRUE(too_many_slots.error().text.starts_with("tessera.dev/gpu-share: 128000 devices"));
    EXPECT_TRUE(too_many_slots.error().text.ends_with("lower slots_per_gpu"));

    NodeInventory small = build::node("n", 2, gibibytes(15));
    small.unit = MemoryUnit::mib;
    EXPECT_TRUE(check_list_sizes(small, {}));
    EXPECT_TRUE(check_list_sizes(build::node("n", 0, {}), {}));
}

}  // namespace
}  // namespace tessera
