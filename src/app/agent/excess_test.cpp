#include "app/agent/excess.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

ShareUse use(const char* card, int held, int limit) {
    return {.card = GpuUuid(card), .held = gibibytes(held), .limit = gibibytes(limit)};
}

TEST(Excess, IsWhatIsHeldAboveTheLimitsOfACard) {
    const auto excess =
        excess_by_card({use("a", 5, 2), use("a", 1, 4), use("a", 4, 3), use("b", 2, 2)});
    EXPECT_EQ(excess, (std::map<GpuUuid, Bytes>{{GpuUuid("a"), gibibytes(4)}}));
}

TEST(Excess, DamagedAccountsSayNothing) {
    ShareUse broken = use("a", 5, 2);
    broken.is_damaged = true;
    EXPECT_TRUE(excess_by_card({broken}).empty());
}

TEST(Excess, IsNeverMoreThanTheCard) {
    NodeInventory node;
    node.gpus.push_back({.uuid = GpuUuid("a"), .memory = gibibytes(8), .reserved = gibibytes(1)});
    node.gpus.push_back({.uuid = GpuUuid("b"), .memory = gibibytes(8)});
    EXPECT_EQ(with_excess(node, {{GpuUuid("a"), gibibytes(3)}}).gpus[0].excess, gibibytes(3));
    EXPECT_EQ(with_excess(node, {{GpuUuid("a"), gibibytes(99)}}).gpus[0].excess, gibibytes(7));
    EXPECT_EQ(with_excess(node, {{GpuUuid("a"), gibibytes(3)}}).gpus[1], node.gpus[1]);
}

}  // namespace
}  // namespace tessera
