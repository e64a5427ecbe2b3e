#include "app/agent/start/container_devices.hpp"

#include <gtest/gtest.h>

#include "domain/dialect/gpu_manager.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "testing/fakes/fake_enforcer.hpp"

namespace tessera {
namespace {

const std::string kCore(resource::kVcudaCore);
const std::string kMemory(resource::kVcudaMemory);

// Goal: each container with a share has devices of exactly one resource that gives the share.
TEST(GivesShare, OncePerContainer) {
    for (const char* name : {"tessera.dev/gpu", "tessera.dev/gpu-share", "aliyun.com/gpu-mem",
                             "tencent.com/vcuda-core", "cpu"})
        EXPECT_TRUE(gives_share(name, all_dialects())) << name;
    EXPECT_FALSE(gives_share("tencent.com/vcuda-memory", all_dialects()));
}

// Containers of gpu-manager's dialect: kubelet asks the plugins of two resources about each.
class TwoResourcesTest : public ContainerStartTest {
  protected:
    Allocation allocated() {
        Allocation out = allocation({{"main", {}, {share(1, 4)}}});
        out.dialect = &kGpuManagerDialect;
        return out;
    }
    void put_pod() {
        kube_.put_pod(build::bound(build::pod("p", build::native(gibibytes(4))), allocated()));
    }
    // Records what Allocate gave the container, as kubelet's checkpoint does.
    std::vector<std::string> allocate(const std::string& resource) {
        const auto devices = by_kubelet_.allocate(resource, {"id"});
        EXPECT_TRUE(devices);
        holds("uid-p", "main", {"id"}, *devices, resource);
        return *devices;
    }

    FakeEnforcer enforcer_;
    ContainerStartHandler by_kubelet_{ports(Enforcers({&enforcer_})), kNode, Identity::kubelet,
                                      kByEnvironment};
};

// Goal: the container gets its share once, whichever plugin kubelet asks first. With two devices of
// the share, the hooks of the vendor's CDI device would run twice.
TEST_F(TwoResourcesTest, MakeOneShare) {
    for (const bool core_first : {true, false}) {
        holders_.set(std::vector<DeviceHolder>{});
        put_pod();
        const auto core = allocate(kCore);
        ASSERT_EQ(core.size(), 1U);
        EXPECT_TRUE(allocate(kMemory).empty());
        enforcer_.prepared.clear();
        for (const std::string& resource :
             {core_first ? kCore : kMemory, core_first ? kMemory : kCore}) {
            const auto started = by_kubelet_.pre_start(resource, {"id"});
            ASSERT_TRUE(started) << started.error().text;
        }
        EXPECT_EQ(enforcer_.prepared.size(), 1U);
        const auto shares = cdi_.shares();
        ASSERT_EQ(shares.size(), 1U);
        EXPECT_EQ(shares.begin()->first, core[0].substr(kShareKind.size()));
        EXPECT_EQ(shares.begin()->second.env[0].second, "GPU-1");
    }
}

// Goal: a container that was not placed is refused for either resource, also if it has only one.
TEST_F(TwoResourcesTest, FailClosed) {
    PodInfo unplaced = build::pod("p", build::native(gibibytes(4)));
    unplaced.node = kNode;
    kube_.put_pod(unplaced);
    allocate(kMemory);
    const auto refused = by_kubelet_.pre_start(kMemory, {"id"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("was not placed by Tessera"), std::string::npos);
    allocate(kCore);
    EXPECT_FALSE(by_kubelet_.pre_start(kCore, {"id"}));
    EXPECT_TRUE(cdi_.shares().empty());
}

// Goal: with identity nri, the container gets its share too.
TEST_F(TwoResourcesTest, GetTheShareByNri) {
    holds("uid-p", "main", {"a"}, {}, kMemory);
    holds("uid-p", "main", {"b"}, {}, kCore);
    const auto edits = handler_.on_create_container(annotated("main", allocated()));
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_EQ(edits->env[0].second, "GPU-1");
}

// Goal: a container that gpu-manager started is left alone, in whatever order kubelet's record has
// its resources. Only one of gpu-manager's two plugins sets a variable.
TEST_F(TwoResourcesTest, LeaveWhatGpuManagerHandedOver) {
    for (const bool core_first : {true, false}) {
        const DeviceHolder core{.pod = PodUid("uid-p"),
                                .container = "main",
                                .resource = kCore,
                                .ids = {"id"},
                                .cdi_devices = {},
                                .by_former_plugin = true};
        DeviceHolder memory = core;
        memory.resource = kMemory;
        memory.by_former_plugin = false;
        holders_.set(core_first ? std::vector{core, memory} : std::vector{memory, core});
        EXPECT_TRUE(unshared(handler_, {container("main")}).empty());
        const auto edits = handler_.on_create_container(container("main"));
        ASSERT_TRUE(edits) << edits.error().text;
        EXPECT_TRUE(edits->env.empty());
        put_pod();
        for (const std::string& resource : {kCore, kMemory})
            EXPECT_TRUE(by_kubelet_.pre_start(resource, {"id"})) << resource;
        EXPECT_TRUE(cdi_.shares().empty());
    }
}

}  // namespace
}  // namespace tessera
