// Goal: a container that starts again after its pod was resized has the new shares, whatever the
// runtime remembers, and one that has started is known as ours, whichever shares it started with.
#include <gtest/gtest.h>

#include "app/agent/gate.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_live_limits.hpp"
#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_unshared_containers.hpp"
#include "wire/allocation_json.hpp"

namespace tessera {
namespace {

const NodeName kNode("n1");
// The runtime reads NVIDIA_VISIBLE_DEVICES, so no CDI device is needed.
const StartRules kByEnvironment = {.environment_handlers = {"default"}};

class GateResizeTest : public ::testing::Test {
  protected:
    GateResizeTest() {
        driver_.set(FakeGpuInventory::cards(1, gibibytes(16)));
        EXPECT_TRUE(cards_.load());
        holders_.add({PodUid("uid-p"), "main", "tessera.dev/gpu", {"slot"}, {}});
    }
    static Allocation allocation(int gib, std::int64_t revision) {
        return {PodUid("uid-p"),
                kNode,
                DialectId::native,
                {{"main", {}, {{.uuid = GpuUuid("GPU-0"), .memory = gibibytes(gib)}}}},
                revision};
    }
    // As the runtime remembers it.
    static RuntimeContainer container(int gib) {
        RuntimeContainer out;
        out.id = "id";
        out.name = "main";
        out.setup.name = "main";
        out.running = true;
        out.pod_uid = PodUid("uid-p");
        out.pod = {"default", "p"};
        out.pod_annotations["tessera.dev/allocation"] = write_allocation(allocation(gib, 0));
        return out;
    }
    bool is_unshared(int started_gib, const std::string& cards = "GPU-0") {
        RuntimeContainer runs = container(4);
        runs.env = {"NVIDIA_VISIBLE_DEVICES=" + cards,
                    "TESSERA_GPU_MEMORY_BYTES=" + std::to_string(started_gib * kGiB)};
        gate_.synchronize({runs});
        return !unshared_.take().empty();
    }
    Bytes held() { return holder_.held.at("uid-p/main").at(0).memory; }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    FakeDevicePluginHost plugins_;
    FakeDeviceHolders holders_;
    FakeCdiStore cdi_;
    FakeShareHolder holder_;
    FakeLiveLimits limits_;
    Cards cards_{driver_, kube_, plugins_, {.node = kNode, .lists = {}, .publishing = {}}};
    FakeUnsharedContainers unshared_;
    Gate gate_{{.cards = cards_,
                .kube = kube_,
                .holders = holders_,
                .plugins = plugins_,
                .cdi = cdi_,
                .seal = nullptr,
                .holder = &holder_,
                .limits = &limits_,
                .unshared = &unshared_},
               kNode,
               Identity::nri,
               kByEnvironment};
};

TEST_F(GateResizeTest, TheNewestOfBothCounts) {
    ASSERT_TRUE(gate_.complete(container(4)));
    EXPECT_EQ(held(), gibibytes(4));
    ASSERT_TRUE(limits_.keep(allocation(6, 2)));
    const auto edits = gate_.complete(container(4));
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_EQ(held(), gibibytes(6));
    EXPECT_EQ(edits->env.at(1), (std::pair<std::string, std::string>("TESSERA_GPU_MEMORY_BYTES",
                                                                     std::to_string(6 * kGiB))));
    RuntimeContainer newer = container(4);
    newer.pod_annotations["tessera.dev/allocation"] = write_allocation(allocation(7, 3));
    ASSERT_TRUE(gate_.complete(newer));
    EXPECT_EQ(held(), gibibytes(7)) << "what is kept may be older, too";
}

TEST_F(GateResizeTest, WhatIsKeptAndCannotBeReadIsNotGuessed) {
    limits_.spoil();
    const auto edits = gate_.complete(container(4));
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
