// Goal: an enforcer outside the container is added as a row of the agent's table, in front of the
// guard (here its fake), and nothing else of the agent changes.
#include "testing/extending/toy_enforcer.hpp"

#include <gtest/gtest.h>

#include "app/agent/enforcement/enforcers.hpp"
#include "app/agent/enforcement/limit_reconciler.hpp"
#include "app/agent/enforcement/mount_watch.hpp"
#include "app/agent/enforcement/region_garbage_collector.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"
#include "testing/fakes/fake_shares.hpp"

namespace tessera {
namespace {

using toy::ToyEnforcer;

class ToyEnforcerTest : public ContainerStartTest {
  protected:
    ToyEnforcerTest() { processes_.pods = {{42, PodUid("uid-p")}}; }

    static Allocation shared(int gib, std::int64_t revision = 0) {
        Allocation out = allocation({{"main", {}, {share(0, gib)}}});
        out.containers[0].gpus[0].cores = {25};
        out.revision = revision;
        return out;
    }
    // The container as the runtime creates it with these edits.
    static RuntimeContainer created(RuntimeContainer container, const ContainerEdits& edits) {
        for (const auto& [name, value] : edits.env)
            container.env.push_back(name + "=" + value);
        for (const FileMount& mount : edits.mounts)
            container.setup.mounts.push_back(
                {.destination = mount.destination, .source = mount.source});
        container.pid = 42;
        return container;
    }
    // Starts the container, and returns the event of a refusal.
    std::string start(const Allocation& allocation) {
        holders_.set(std::vector<DeviceHolder>{});
        starting_ = given("main", allocation);
        auto edits = starts_.on_create_container(starting_);
        if (!edits) return edits.error().text;
        edits_ = *std::move(edits);
        const auto verified = starts_.verify(created(starting_, edits_));
        return verified ? "" : verified.error().text;
    }
    [[nodiscard]] std::string enforced_by() const {
        return table_.enforced_by(PodUid("uid-p"), "main").text();
    }
    toy::MemoryLimit& in_force() { return node_.in_force.at(place_); }

    const toy::Place place_{PodUid("uid-p"), "main", GpuUuid("GPU-0")};
    toy::Node node_;
    ToyEnforcer toy_{node_};
    FakeEnforcer guard_{"guard"};
    Enforcers table_{{&toy_, &guard_}};  // this is all that adds it
    FakeProcessTable processes_;
    FakePodEvents events_;
    FakeResizedAllocations resized_;
    MountWatch watch_{{table_, processes_, events_}, false};
    ContainerStartPorts ports_ = [this] {
        ContainerStartPorts ports = this->ports(table_, &resized_);
        ports.mounts = &watch_;
        return ports;
    }();
    ContainerStartHandler starts_{ports_, kNode, Identity::nri, kByEnvironment};
    RuntimeContainer starting_;
    ContainerEdits edits_;
};

TEST_F(ToyEnforcerTest, LimitsMemoryAndLeavesComputeToTheGuard) {
    ASSERT_EQ(start(shared(4)), "");
    EXPECT_EQ(enforced_by(), "memory=toy,compute=guard");
    EXPECT_EQ(in_force(), (toy::MemoryLimit{gibibytes(4), gibibytes(4)}));
    EXPECT_EQ(guard_.enforces(PodUid("uid-p"), "main"), ShareResources{.compute = true});
    EXPECT_EQ(edits_.env.front().first, "NVIDIA_VISIBLE_DEVICES");
    EXPECT_EQ(edits_.env.back(),
              (std::pair<std::string, std::string>(ToyEnforcer::kVariable, "uid-p")));
    EXPECT_EQ(edits_.mounts.size(), 1U) << "of the guard";
}

// Goal: a request below the limit reaches the driver as a soft and a hard limit.
TEST_F(ToyEnforcerTest, TakesARequestBelowTheLimit) {
    const std::vector<EnforcedShare> shares{
        {.gpu = GpuUuid("GPU-0"), .memory = gibibytes(4), .memory_request = gibibytes(1)}};
    const EnforcedContainer container{PodUid("uid-p"), {}, "main"};
    ASSERT_TRUE(toy_.prepare(container, shares, {.memory = true}));
    ASSERT_TRUE(toy_.apply(container, 42));
    EXPECT_EQ(in_force(), (toy::MemoryLimit{gibibytes(1), gibibytes(4)}));
}

// Goal: without a driver that can, the guard limits both, and the toy's earlier limit is dropped.
TEST_F(ToyEnforcerTest, LeavesItToTheNextRow) {
    ASSERT_EQ(start(shared(4)), "");
    node_.driver_fault = "the driver is older than r615; update it";
    ASSERT_EQ(start(shared(4)), "");
    EXPECT_EQ(enforced_by(), "guard");
    EXPECT_TRUE(node_.in_force.empty());
    EXPECT_EQ(table_.fault(), "") << "the node can enforce shares";
}

TEST_F(ToyEnforcerTest, AContainerThatNoRowCanLimitIsRefused) {
    const Error broken{Code::unsupported, "SELinux is on; label the folder"};
    guard_.refuse(ShareResource::compute, broken);
    EXPECT_EQ(start(shared(4)),
              "Tessera: no enforcer of this node can limit the container's GPU compute: toy: it "
              "limits memory only; guard: SELinux is on; label the folder");
    EXPECT_TRUE(node_.records.empty()) << "refused before anything is prepared";
    guard_.refuse(ShareResource::memory, broken);
    node_.driver_fault = "the driver is older than r615; update it";
    EXPECT_EQ(start(shared(4)),
              "Tessera: no enforcer of this node can limit the container's GPU memory: toy: the "
              "driver is older than r615; update it; guard: SELinux is on; label the folder");
}

TEST_F(ToyEnforcerTest, FollowsAResize) {
    ASSERT_EQ(start(shared(4)), "");
    LimitReconciler reconciler(table_, resized_, kNode);
    PodInfo pod = build::bound(build::pod("p", build::native(gibibytes(4))), shared(6, 1));
    reconciler.take({.upserted = {pod}, .deleted = {}, .listed = {}});
    reconciler.apply();
    EXPECT_EQ(in_force().hard, gibibytes(6));
    EXPECT_EQ(guard_.in_force.at("uid-p/main").at(0).memory, gibibytes(6));
}

// Goal: a limit that the driver does not have keeps a container from its start, and is reported
// while the container runs.
TEST_F(ToyEnforcerTest, IsReadBack) {
    node_.drops_limits = true;
    EXPECT_EQ(start(shared(4)),
              "Tessera: container main: the driver does not limit its memory on GPU-0 to 4Gi; "
              "delete the pod");
    node_.drops_limits = false;
    ASSERT_EQ(start(shared(4)), "");
    watch_.look();
    EXPECT_TRUE(events_.reported.empty());
    in_force().hard = gibibytes(16);
    watch_.look();
    ASSERT_EQ(events_.reported.size(), 1U);
    EXPECT_NE(events_.reported[0].message.find("does not limit its memory on GPU-0 to 4Gi"),
              std::string::npos);
}

// Goal: memory is as the driver counts it, and time as the guard does.
TEST_F(ToyEnforcerTest, IsMetered) {
    ASSERT_EQ(start(shared(4)), "");
    node_.used[place_] = gibibytes(3);
    ShareUse of_guard{.pod = PodUid("uid-p"), .container = "main", .gpu = GpuUuid("GPU-0")};
    of_guard.waited_ns = 7;
    guard_.measured.uses = {of_guard};
    const auto uses = table_.usage().uses;
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses[0].used, gibibytes(3));
    EXPECT_EQ(uses[0].limit, gibibytes(4));
    EXPECT_EQ(uses[0].waited_ns, 7);
}

// Goal: the next agent puts back the limits that the driver lost, watches the container again, and
// cleans up once the pod is over.
TEST_F(ToyEnforcerTest, SurvivesTheAgentAndEndsWithThePod) {
    ASSERT_EQ(start(shared(4)), "");
    node_.in_force.clear();
    ToyEnforcer next_toy(node_);
    const Enforcers next({&next_toy, &guard_});
    RegionGarbageCollector collector(next, holders_);
    PodInfo pod;
    pod.uid = PodUid("uid-p");
    collector.take({.upserted = {pod}, .deleted = {}, .listed = std::set{pod.uid}});
    collector.collect();
    EXPECT_EQ(in_force().hard, gibibytes(4));
    const RuntimeContainer runs = created(starting_, edits_);
    EXPECT_FALSE(next.has_started_enforced(pod.uid, "main", runs.setup.mounts))
        << "the fake of the guard mounts one of its two files";
    EXPECT_TRUE(Enforcers({&next_toy}).has_started_enforced(pod.uid, "main", {}));
    guard_.in_use = {pod.uid};
    collector.take({.upserted = {}, .deleted = {pod.uid}, .listed = {}});
    collector.collect();
    EXPECT_FALSE(node_.records.empty()) << "the guard says that a process is alive";
    guard_.in_use.clear();
    collector.collect();
    EXPECT_TRUE(node_.records.empty());
    EXPECT_TRUE(node_.in_force.empty());
}

}  // namespace
}  // namespace tessera
