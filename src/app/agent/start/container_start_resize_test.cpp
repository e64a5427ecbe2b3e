// Goal: a container that starts again after its pod was resized gets the new shares, whatever the
// runtime remembers. One that runs is recognised, whichever shares it started with.
#include <gtest/gtest.h>

#include "app/agent/start/container_start_handler.hpp"
#include "domain/dialect/native.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_shares.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {
namespace {

class ContainerStartResizeTest : public ContainerStartTest {
  protected:
    ContainerStartResizeTest() { holds("uid-p", "main", {"slot"}); }
    static Allocation allocation(int gib, std::int64_t revision) {
        return {PodUid("uid-p"),
                kNode,
                &kNativeDialect,
                {{"main", {}, {{.uuid = GpuUuid("GPU-0"), .memory = gibibytes(gib)}}}},
                revision};
    }
    // The container as the runtime remembers it.
    static RuntimeContainer container(int gib) { return annotated("main", allocation(gib, 0)); }
    bool is_unshared(int started_gib, const std::string& gpus = "GPU-0") {
        RuntimeContainer runs = container(4);
        runs.env = {"NVIDIA_VISIBLE_DEVICES=" + gpus,
                    "TESSERA_GPU_MEMORY_BYTES=" + std::to_string(started_gib * kGiB)};
        return !unshared(resizing_, {runs}).empty();
    }
    Bytes enforced() { return holder_.in_force.at("uid-p/main").at(0).memory; }

    FakeEnforcer holder_;
    FakeResizedAllocations resized_;
    ContainerStartHandler resizing_{ports(Enforcers({&holder_}), &resized_), kNode, Identity::nri,
                                    kByEnvironment};
};

TEST_F(ContainerStartResizeTest, TheNewestOfBothCounts) {
    ASSERT_TRUE(resizing_.on_create_container(container(4)));
    EXPECT_EQ(enforced(), gibibytes(4));
    ASSERT_TRUE(resized_.keep(allocation(6, 2)));
    const auto edits = resizing_.on_create_container(container(4));
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_EQ(enforced(), gibibytes(6));
    EXPECT_EQ(edits->env.at(1), (std::pair<std::string, std::string>("TESSERA_GPU_MEMORY_BYTES",
                                                                     std::to_string(6 * kGiB))));
    RuntimeContainer newer = container(4);
    newer.pod_annotations["tessera.dev/allocation"] = write_allocation(allocation(7, 3));
    ASSERT_TRUE(resizing_.on_create_container(newer));
    EXPECT_EQ(enforced(), gibibytes(7)) << "the kept allocation may be older, too";
}

TEST_F(ContainerStartResizeTest, WhatIsKeptAndCannotBeReadIsNotGuessed) {
    resized_.spoil();
    const auto edits = resizing_.on_create_container(container(4));
    ASSERT_FALSE(edits);
    EXPECT_EQ(edits.error().text, "Tessera: allocation.json: not JSON");
    EXPECT_FALSE(is_unshared(9)) << "a running container goes on";
}

TEST_F(ContainerStartResizeTest, WhatWasResizedIsStillOurs) {
    EXPECT_FALSE(is_unshared(4));
    EXPECT_TRUE(is_unshared(5));
    ASSERT_TRUE(resized_.keep(allocation(6, 2)));
    EXPECT_FALSE(is_unshared(4)) << "it started before";
    EXPECT_FALSE(is_unshared(5)) << "or between two resizes";
    EXPECT_TRUE(is_unshared(4, "all"));
}

}  // namespace
}  // namespace tessera
