#include "domain/dialect/published_node.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

// Goal: the names are complete. A node with GPUs shows no resource that is not among them.
TEST(PublishedNode, Resources) {
    const std::vector<std::string> names = published_resources(all_dialects());
    for (const char* name : {"tessera.dev/gpu", "tessera.dev/gpu-share", "tessera.dev/gpu-memory",
                             "tessera.dev/gpu-cores", "aliyun.com/gpu-mem", "aliyun.com/gpu-count",
                             "tencent.com/vcuda-core", "tencent.com/vcuda-memory"})
        EXPECT_EQ(std::ranges::count(names, name), 1) << name;
    NodeInventory node;
    node.gpus = {Gpu{.uuid = GpuUuid("GPU-0"), .memory = gibibytes(16)}};
    for (const Dialect* dialect : all_dialects().all()) {
        StringMap amounts;
        if (dialect->add_amounts != nullptr) dialect->add_amounts(node, amounts);
        for (const auto& [name, amount] : amounts)
            EXPECT_EQ(std::ranges::count(names, name), 1) << name;
    }
}

}  // namespace
}  // namespace tessera
