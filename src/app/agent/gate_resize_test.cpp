// Goal: a container that starts again after its pod was resized has the new shares, whatever the
// runtime remembers, and one that has started is known as ours, whichever shares it started with.
#include <gtest/gtest.h>

#include "testing/fakes/fake_live_limits.hpp"
#include "testing/fakes/gate_fixture.hpp"

namespace tessera {
namespace {

class GateResizeTest : public GateTest {
  protected:
    GateResizeTest() { holds("uid-p", "main", {"slot"}); }
    static Allocation allocation(int gib, std::int64_t revision) {
        return {PodUid("uid-p"),
                kNode,
                DialectId::native,
                {{"main", {}, {{.uuid = GpuUuid("GPU-0"), .memory = gibibytes(gib)}}}},
                revision};
    }
    // As the runtime remembers it.
    static RuntimeContainer container(int gib) { return annotated("main", allocation(gib, 0)); }
    bool is_unshared(int started_gib, const std::string& cards = "GPU-0") {
        RuntimeContainer runs = container(4);
        runs.env = {"NVIDIA_VISIBLE_DEVICES=" + cards,
                    "TESSERA_GPU_MEMORY_BYTES=" + std::to_string(started_gib * kGiB)};
        return !unshared(resizing_, {runs}).empty();
    }
    Bytes held() { return holder_.held.at("uid-p/main").at(0).memory; }

    FakeShareHolder holder_;
    FakeLiveLimits limits_;
    Gate resizing_{ports(&holder_, &limits_), kNode, Identity::nri, kByEnvironment};
};

TEST_F(GateResizeTest, TheNewestOfBothCounts) {
    ASSERT_TRUE(resizing_.complete(container(4)));
    EXPECT_EQ(held(), gibibytes(4));
    ASSERT_TRUE(limits_.keep(allocation(6, 2)));
    const auto edits = resizing_.complete(container(4));
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_EQ(held(), gibibytes(6));
    EXPECT_EQ(edits->env.at(1), (std::pair<std::string, std::string>("TESSERA_GPU_MEMORY_BYTES",
                                                                     std::to_string(6 * kGiB))));
    RuntimeContainer newer = container(4);
    newer.pod_annotations["tessera.dev/allocation"] = write_allocation(allocation(7, 3));
    ASSERT_TRUE(resizing_.complete(newer));
    EXPECT_EQ(held(), gibibytes(7)) << "what is kept may be older, too";
}

TEST_F(GateResizeTest, WhatIsKeptAndCannotBeReadIsNotGuessed) {
    limits_.spoil();
    const auto edits = resizing_.complete(container(4));
    ASSERT_FALSE(edits);
    EXPECT_EQ(edits.error().text, "Tessera: allocation.json: not JSON");
    EXPECT_FALSE(is_unshared(9)) << "but what runs goes on";
}

TEST_F(GateResizeTest, WhatWasResizedIsStillOurs) {
    EXPECT_FALSE(is_unshared(4));
    EXPECT_TRUE(is_unshared(5));
    ASSERT_TRUE(limits_.keep(allocation(6, 2)));
    EXPECT_FALSE(is_unshared(4)) << "it started before";
    EXPECT_FALSE(is_unshared(5)) << "or between two resizes";
    EXPECT_TRUE(is_unshared(4, "all"));
}

}  // namespace
}  // namespace tessera
