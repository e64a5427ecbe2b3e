#include "app/agent/enforcement/over_limit.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

ShareUse use(const char* gpu, int used, int limit) {
    return {.gpu = GpuUuid(gpu), .used = gibibytes(used), .limit = gibibytes(limit)};
}

TEST(OverLimit, IsWhatIsHeldAboveTheLimitsOfAGpu) {
    const auto over_limit =
        over_limit_by_gpu({use("a", 5, 2), use("a", 1, 4), use("a", 4, 3), use("b", 2, 2)});
    EXPECT_EQ(over_limit, (std::map<GpuUuid, Bytes>{{GpuUuid("a"), gibibytes(4)}}));
}

TEST(OverLimit, DamagedAccountsSayNothing) {
    ShareUse broken = use("a", 5, 2);
    broken.is_damaged = true;
    EXPECT_TRUE(over_limit_by_gpu({broken}).empty());
}

TEST(OverLimit, IsNeverMoreThanTheGpu) {
    NodeInventory node;
    node.gpus.push_back({.uuid = GpuUuid("a"), .memory = gibibytes(8), .reserved = gibibytes(1)});
    node.gpus.push_back({.uuid = GpuUuid("b"), .memory = gibibytes(8)});
    EXPECT_EQ(with_over_limit(node, {{GpuUuid("a"), gibibytes(3)}}).gpus[0].over_limit,
              gibibytes(3));
    EXPECT_EQ(with_over_limit(node, {{GpuUuid("a"), gibibytes(99)}}).gpus[0].over_limit,
              gibibytes(7));
    EXPECT_EQ(with_over_limit(node, {{GpuUuid("a"), gibibytes(3)}}).gpus[1], node.gpus[1]);
}

}  // namespace
}  // namespace tessera
