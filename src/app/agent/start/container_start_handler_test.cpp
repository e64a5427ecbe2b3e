#include "app/agent/start/container_start_handler.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {
namespace {

using Env = std::vector<std::pair<std::string, std::string>>;

// Goal: a container gets exactly its own share: variables, and the vendor's device, found by UUID
// or by number, if a CDI specification has it.
TEST_F(ContainerStartTest, CompletesWithTheOwnShare) {
    const Allocation two = allocation({{"a", {}, {share(0, 4)}}, {"b", {}, {share(1, 8)}}});
    const auto a = handler_.on_create_container(given("a", two));
    ASSERT_TRUE(a) << a.error().text;
    EXPECT_EQ(a->env, (Env{{"NVIDIA_VISIBLE_DEVICES", "GPU-0"},
                           {"TESSERA_GPU_MEMORY_BYTES", std::to_string(4 * kGiB)},
                           {"TESSERA_GPU_VISIBLE_MEMORY_BYTES", std::to_string(16 * kGiB)}}));
    EXPECT_TRUE(a->cdi_devices.empty());
    cdi_.add_vendor_device("GPU-1");
    cdi_.add_vendor_device("0");
    EXPECT_EQ(handler_.on_create_container(given("b", two))->cdi_devices,
              std::vector<std::string>{"nvidia.com/gpu=GPU-1"});
    EXPECT_EQ(handler_.on_create_container(given("a", two))->cdi_devices,
              std::vector<std::string>{"nvidia.com/gpu=0"});
}

// Goal: a container that requests no GPU is left alone, with or without neighbours that do.
TEST_F(ContainerStartTest, LeavesOthersAlone) {
    EXPECT_EQ(handler_.on_create_container(container("web")), ContainerEdits{});
    EXPECT_EQ(
        handler_.on_create_container(annotated("web", allocation({{"main", {}, {share(0, 4)}}}))),
        ContainerEdits{});
    holds("uid-other", "web", {"GPU-0-slot-0"});
    holds("uid-p", "main", {"GPU-0-slot-1"});
    holds("uid-p", "web", {"x"}, {}, "example.com/fpga");
    EXPECT_EQ(handler_.on_create_container(container("web")), ContainerEdits{});
}

// Goal: a container that has GPU devices and no share does not start, and the error says what to do
// (D-17).
TEST_F(ContainerStartTest, DevicesWithoutAllocation) {
    holds("uid-p", "main", {"GPU-0-slot-0"});
    const auto refused = handler_.on_create_container(container("main"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("tessera.dev/allocation"), std::string::npos);
    EXPECT_NE(refused.error().text.find("extender"), std::string::npos);
    EXPECT_NE(refused.error().text.find("delete the pod"), std::string::npos);
    EXPECT_FALSE(handler_.on_create_container(
        annotated("main", allocation({{"other", {}, {share(0, 4)}}}))));
    holders_.set(std::vector<DeviceHolder>{});
    holds("uid-p", "main", {"GPU-0-_-0"}, {}, "aliyun.com/gpu-mem");
    EXPECT_FALSE(handler_.on_create_container(container("main")));
}

// Goal: with a key, only an allocation that the controller signed starts a container. A tenant that
// writes the annotation itself, changes it, or copies another pod's signature gets no GPU, and the
// error says why.
TEST_F(ContainerStartTest, OnlySignedAllocations) {
    const auto seal = AllocationSeal::from_keys(std::string(64, 'a'));
    ContainerStartPorts with_seal = ports();
    with_seal.seal = &*seal;
    ContainerStartHandler handler(with_seal, kNode, Identity::nri, kByEnvironment);
    const Allocation allocated = allocation({{"main", {}, {share(0, 4)}}});
    RuntimeContainer signed_one = given("main", allocated);
    const std::string text = signed_one.pod_annotations["tessera.dev/allocation"];
    const auto refusal = [&] {
        const auto refused = handler.on_create_container(signed_one);
        return refused ? std::string() : refused.error().text;
    };
    EXPECT_NE(refusal().find("allocation-mac is missing"), std::string::npos);
    std::string& mac = signed_one.pod_annotations["tessera.dev/allocation-mac"];
    mac = seal->sign(text);
    EXPECT_EQ(refusal(), "");
    mac = seal->sign(write_allocation(allocation({{"main", {}, {share(1, 4)}}})));
    EXPECT_NE(refusal().find("does not match"), std::string::npos);
    mac = AllocationSeal::from_keys(std::string(64, 'b'))->sign(text);
    EXPECT_NE(refusal().find("does not match"), std::string::npos);

    // Running containers are judged by their environment: an agent with a wrong key must not end
    // its node's work.
    EXPECT_EQ(unshared(handler, {signed_one}).size(), 1U);
    mac = seal->sign(text);
    const ContainerEdits edits = handler.on_create_container(signed_one).value();
    for (const auto& [name, value] : edits.env)
        signed_one.env.push_back(name + "=" + value);
    mac.clear();
    EXPECT_TRUE(unshared(handler, {signed_one}).empty());
}

// Goal: an annotation alone gives no GPU: a pod without GPU limits never reaches the scheduler's
// extender, and its owner may write any annotation. Method: no devices at all, those of another
// container, of another pod, and of a resource that is not ours.
TEST_F(ContainerStartTest, AllocationWithoutDevices) {
    const RuntimeContainer forged = annotated("main", allocation({{"main", {}, {share(0, 4)}}}));
    for (int i = 0; i < 2; ++i) {
        const auto refused = handler_.on_create_container(forged);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::conflict);
        EXPECT_TRUE(refused.error().text.starts_with("Tessera: container main was given no GPU"));
        EXPECT_NE(refused.error().text.find("Delete the pod"), std::string::npos);
        holds("uid-p", "web", {"GPU-0-slot-0"});
        holds("uid-other", "main", {"GPU-0-slot-1"});
        holds("uid-p", "main", {"x"}, {}, "example.com/fpga");
    }
    holds("uid-p", "main", {"GPU-0-slot-2"});
    EXPECT_TRUE(handler_.on_create_container(forged));
}

// Goal: while kubelet's record cannot be read, no share is handed over and no container with
// devices passes. Containers that request no GPU start: the node's network is among them.
TEST_F(ContainerStartTest, UnreadableRecord) {
    const RuntimeContainer placed = given("main", allocation({{"main", {}, {share(0, 4)}}}));
    handler_.on_link(true, "containerd 2.3");
    EXPECT_TRUE(handler_.pre_start(kGpuShare, {"slot of main"}));
    holders_.set(fail(Code::unsupported, "kubelet's checkpoint: another form"));
    EXPECT_EQ(handler_.on_create_container(container("cni")), ContainerEdits{});
    for (const auto& error : {handler_.on_create_container(placed).error(),
                              handler_.pre_start(kGpuShare, {"slot of main"}).error()}) {
        EXPECT_EQ(error.code, Code::unsupported);
        EXPECT_EQ(error.text, "Tessera: kubelet's checkpoint: another form");
    }
}

// Goal: an allocation of another pod, of another node, or that cannot be read, starts no container.
TEST_F(ContainerStartTest, ForeignAndBrokenAllocations) {
    Allocation foreign = allocation({{"main", {}, {share(0, 4)}}});
    foreign.pod = PodUid("uid-other");
    auto refused = handler_.on_create_container(given("main", foreign));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::conflict);
    EXPECT_TRUE(refused.error().text.starts_with("Tessera: ")) << refused.error().text;

    Allocation moved = allocation({{"main", {}, {share(0, 4)}}});
    moved.node = NodeName("n2");
    EXPECT_EQ(handler_.on_create_container(given("main", moved)).error().code, Code::conflict);

    for (const char* text : {"", "{", R"({"version":2})"}) {
        RuntimeContainer broken = container("main");
        broken.pod_annotations["tessera.dev/allocation"] = text;
        EXPECT_FALSE(handler_.on_create_container(broken)) << text;
    }
}

// Goal: a container whose GPU is unhealthy or gone does not start, and the error says so.
TEST_F(ContainerStartTest, GpusThatCannotBeUsed) {
    EXPECT_EQ(handler_.on_create_container(given("main", allocation({{"main", {}, {share(5, 4)}}})))
                  .error()
                  .code,
              Code::unavailable);
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[0].lost = "GPU is lost";
    driver_.set(readings);
    ASSERT_TRUE(gpus_.load());
    const auto sick =
        handler_.on_create_container(given("main", allocation({{"main", {}, {share(0, 4)}}})));
    ASSERT_FALSE(sick);
    EXPECT_NE(sick.error().text.find("does not answer"), std::string::npos);
}

// Goal: a container that sets NVIDIA_VISIBLE_DEVICES twice is refused, because the second entry
// could win. A single entry is replaced by ours, and a longer name is another variable.
TEST_F(ContainerStartTest, VisibleDevicesTwice) {
    RuntimeContainer once = given("main", allocation({{"main", {}, {share(0, 4)}}}));
    once.env = {"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES_X=all"};
    EXPECT_TRUE(handler_.on_create_container(once));
    RuntimeContainer twice = once;
    twice.env.push_back("NVIDIA_VISIBLE_DEVICES=all");
    const auto refused = handler_.on_create_container(twice);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_NE(refused.error().text.find("NVIDIA_VISIBLE_DEVICES 2 times"), std::string::npos);
}

// Goal: while the runtime does not call the agent, no container with devices starts, and the error
// says why. It works again once the link is back. Devices that kubelet's record does not show are
// refused, too, because `on_create_container` would let their container pass.
TEST_F(ContainerStartTest, LinkDown) {
    holds("uid-p", "main", {"GPU-0-slot-0", "GPU-0-slot-1"});
    holds("uid-p", "side", {"GPU-0-slot-0"});
    const auto down = handler_.pre_start(kGpuShare, {"GPU-0-slot-0"});
    ASSERT_FALSE(down);
    EXPECT_EQ(down.error().code, Code::unavailable);
    EXPECT_NE(down.error().text.find("NRI"), std::string::npos);
    handler_.on_link(true, "containerd 2.3");
    EXPECT_TRUE(handler_.pre_start(kGpuShare, {"GPU-0-slot-0"}));
    EXPECT_TRUE(handler_.pre_start(kGpuShare, {"GPU-0-slot-1", "GPU-0-slot-0"}));
    EXPECT_FALSE(handler_.pre_start(kGpuShare, {"GPU-0-slot-1"}));
    EXPECT_FALSE(handler_.pre_start("aliyun.com/gpu-mem", {"GPU-0-slot-0"}));
    handler_.on_link(false, "closed");
    EXPECT_FALSE(handler_.pre_start(kGpuShare, {"GPU-0-slot-0"}));
}

// Goal: with NRI, Allocate returns nothing: a variable or device from it would win over ours or
// leak.
TEST_F(ContainerStartTest, AllocateHandsOverNothing) {
    EXPECT_TRUE(handler_.allocate(kGpuShare, {"GPU-0-slot-0"})->empty());
}

// Goal: kubelet's record may have lost a container (ports/kubelet.hpp). If one is missing, the
// agent has kubelet write the record again, so that the next try works.
TEST_F(ContainerStartTest, MissingInTheRecord) {
    handler_.on_link(true, "containerd 2.3");
    EXPECT_FALSE(handler_.pre_start(kGpuShare, {"slot of main"}));
    EXPECT_EQ(plugins_.refreshes(), 1);
    EXPECT_FALSE(
        handler_.on_create_container(annotated("main", allocation({{"main", {}, {share(0, 4)}}}))));
    EXPECT_EQ(plugins_.refreshes(), 2);
    const RuntimeContainer placed = given("main", allocation({{"main", {}, {share(0, 4)}}}));
    EXPECT_TRUE(handler_.pre_start(kGpuShare, {"slot of main"}));
    EXPECT_TRUE(handler_.on_create_container(placed));
    EXPECT_TRUE(handler_.on_create_container(container("plain")));
    EXPECT_EQ(plugins_.refreshes(), 2);
}

class Synchronize : public ContainerStartTest {
  protected:
    // The container as it runs after `on_create_container`, with `memory` and `visible` in its
    // environment.
    static RuntimeContainer with_env(RuntimeContainer container, const std::string& visible,
                                     const std::string& memory) {
        container.env = {"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=" + visible,
                         "TESSERA_GPU_MEMORY_BYTES=" + memory};
        return container;
    }
    bool is_unshared(const RuntimeContainer& container) {
        const auto found = unshared(handler_, {container});
        if (found.empty()) return false;
        EXPECT_EQ(found[0].id, container.id);
        EXPECT_EQ(found[0].pod_uid, container.pod_uid);
        EXPECT_EQ(found[0].pid, container.pid);
        EXPECT_FALSE(found[0].reason.empty());
        return true;
    }
    const std::string four_ = std::to_string(4 * kGiB);
};

// Goal: when the link comes up, exactly those running containers are found that run without their
// share. A share is what the allocation says, not what the pod's environment claims.
TEST_F(Synchronize, FindsWhatSlippedThrough) {
    const Allocation both = allocation({{"main", {}, {share(0, 4)}}, {"good", {}, {share(1, 4)}}});
    const RuntimeContainer slipped = given("main", both);
    RuntimeContainer stopped = slipped;
    stopped.running = false;
    const RuntimeContainer good = with_env(given("good", both), "GPU-1", four_);
    const auto found =
        unshared(handler_, {slipped, good, stopped, annotated("web", both), container("plain")});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, "id-main");

    EXPECT_FALSE(is_unshared(with_env(slipped, "GPU-0", four_)));
    EXPECT_FALSE(is_unshared(with_env(slipped, "void", four_))) << "a vendor's CDI spec sets that";
    EXPECT_TRUE(is_unshared(with_env(slipped, "GPU-0", "1")));
    EXPECT_TRUE(is_unshared(with_env(slipped, "all", four_)));
    RuntimeContainer twice = with_env(slipped, "GPU-0", four_);
    twice.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all");
    EXPECT_TRUE(is_unshared(twice));
    Allocation foreign = both;
    foreign.pod = PodUid("uid-other");
    EXPECT_TRUE(is_unshared(with_env(annotated("main", foreign), "GPU-0", four_)));
}

// Goal: a container with devices that Tessera did not place is found, whatever its annotations say.
TEST_F(Synchronize, FindsWhatWentPastTheScheduler) {
    holds("uid-p", "main", {"GPU-0-_-0"}, {}, "aliyun.com/gpu-mem");
    EXPECT_TRUE(is_unshared(container("main")));
    EXPECT_TRUE(is_unshared(with_env(container("main"), "GPU-0", four_)));
    for (const char* key : {"ALIYUN_COM_GPU_MEM_IDX", "scheduler.framework.gpushare.allocation"}) {
        RuntimeContainer forged = container("main");
        forged.pod_annotations[key] = "0";
        EXPECT_TRUE(is_unshared(forged)) << key;
    }
}

// Goal: a container that got its GPU from gpushare's plugin, before the node was taken over, goes
// on and starts again with the same GPU. Kubelet's own record shows this, and no tenant writes
// that. The same holds for pods that Tessera's scheduler placed on such a node.
TEST_F(Synchronize, LeavesWhatGpushareHandedOver) {
    holders_.add({.pod = PodUid("uid-p"),
                  .container = "main",
                  .resource = "aliyun.com/gpu-mem",
                  .ids = {"GPU-0-_-0"},
                  .cdi_devices = {},
                  .by_former_plugin = true});
    const Allocation ours = allocation({{"main", {}, {share(0, 4)}}});
    for (const RuntimeContainer& old :
         {container("main"), annotated("main", ours), with_env(container("main"), "0", four_)}) {
        EXPECT_FALSE(is_unshared(old));
        const auto edits = handler_.on_create_container(old);
        ASSERT_TRUE(edits) << edits.error().text;
        EXPECT_TRUE(edits->env.empty());
        EXPECT_TRUE(edits->cdi_devices.empty());
    }
    EXPECT_FALSE(handler_.on_create_container(
        annotated("other", allocation({{"other", {}, {share(0, 4)}}}))));
}

// Goal: a container that cannot be judged goes on, and so does one that was never given a GPU. An
// unreadable record or annotation ends no running work.
TEST_F(Synchronize, LeavesWhatItCannotJudge) {
    const Allocation mine = allocation({{"main", {}, {share(0, 4)}}});
    EXPECT_FALSE(is_unshared(annotated("main", mine))) << "no devices: no GPU";
    RuntimeContainer newer = given("main", mine);
    newer.pod_annotations["tessera.dev/allocation"] = R"({"version":2})";
    EXPECT_FALSE(is_unshared(newer));
    holders_.set(fail(Code::unsupported, "kubelet's checkpoint: another form"));
    EXPECT_FALSE(is_unshared(annotated("main", mine)));
    EXPECT_FALSE(is_unshared(container("plain")));
}

class ContainerStartByKubeletTest : public ContainerStartTest {
  protected:
    // Records what Allocate gave the container, as kubelet's checkpoint does.
    std::string allocate(const std::string& pod, const std::string& name,
                         const std::set<std::string>& ids) {
        const auto device = handler_by_kubelet_.allocate(kGpuShare, {ids.begin(), ids.end()});
        EXPECT_EQ(device->size(), 1U);
        EXPECT_TRUE(device->front().starts_with("tessera.dev/share="));
        holds(pod, name, ids, *device);
        return device->front().substr(std::string("tessera.dev/share=").size());
    }
    Result<> start(const std::set<std::string>& ids) {
        return handler_by_kubelet_.pre_start(kGpuShare, {ids.begin(), ids.end()});
    }
    void put_pod(const Allocation& allocation) {
        kube_.put_pod(build::bound(build::pod("p", build::native(gibibytes(4))), allocation));
    }

    ContainerStartHandler handler_by_kubelet_{{gpus_, kube_, holders_, plugins_, cdi_, nullptr},
                                              kNode,
                                              Identity::kubelet,
                                              kByEnvironment};
};

// Goal: the name that Allocate returns is never used twice.
TEST_F(ContainerStartByKubeletTest, NamesAreFresh) {
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(names.insert(handler_by_kubelet_.allocate(kGpuShare, {"a"})->front()).second);
}

// Goal: a share is enforced if the agent can, whole GPUs need no enforcement, and a container whose
// share cannot be enforced does not start.
TEST_F(ContainerStartTest, HoldsShares) {
    FakeEnforcer holder;
    ContainerStartHandler handler(ports(Enforcers({&holder})), kNode, Identity::nri,
                                  kByEnvironment);
    GpuShare whole = share(1, 16);
    whole.whole = true;
    const Allocation two = allocation({{"a", {}, {share(0, 4)}}, {"b", {}, {whole}}});
    const auto a = handler.on_create_container(given("a", two));
    ASSERT_TRUE(a) << a.error().text;
    EXPECT_EQ(a->mounts, (std::vector<FileMount>{{.source = "/a", .destination = "/guard"}}));
    ASSERT_EQ(holder.in_force.size(), 1U);
    EXPECT_EQ(holder.in_force.at("uid-p/a").at(0).gpu, GpuUuid("GPU-0"));
    EXPECT_EQ(holder.in_force.at("uid-p/a").at(0).memory, Bytes{4 * kGiB});
    ASSERT_EQ(holder.prepared.size(), 1U);
    EXPECT_EQ(holder.prepared[0].name, annotated("a", two).pod);
    const auto b = handler.on_create_container(given("b", two));
    ASSERT_TRUE(b) << b.error().text;
    EXPECT_TRUE(b->mounts.empty());
    holder.refuse_next({Code::unavailable, "the disk is full"});
    const auto none = handler.on_create_container(given("a", two));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text, "Tessera: the disk is full");
}

// Goal: at the start the agent creates the device that Allocate named, with the container's own
// share.
TEST_F(ContainerStartByKubeletTest, MakesTheShare) {
    put_pod(allocation({{"main", {}, {share(1, 4)}}}));
    const std::string name = allocate("uid-p", "main", {"GPU-1-slot-0"});
    cdi_.add_vendor_device("GPU-1");
    EXPECT_TRUE(cdi_.shares().empty()) << "no share before the container is known";
    const auto started = start({"GPU-1-slot-0"});
    ASSERT_TRUE(started) << started.error().text;
    const auto shares = cdi_.shares();
    ASSERT_TRUE(shares.contains(name));
    EXPECT_EQ(shares.at(name).env[0],
              (std::pair<std::string, std::string>{"NVIDIA_VISIBLE_DEVICES", "GPU-1"}));
    EXPECT_EQ(shares.at(name).cdi_devices, std::vector<std::string>{"nvidia.com/gpu=GPU-1"});
}

// Goal: an init container and the app container that inherits its devices have the same set of ids.
// Each gets its own share, under its own name.
TEST_F(ContainerStartByKubeletTest, InitAndAppWithEqualDevices) {
    put_pod(allocation({{"prepare", ContainerKind::init, {share(0, 9)}},
                        {"main", ContainerKind::app, {share(1, 4)}}}));
    kube_.put_setups(PodUid("uid-p"), {{.name = "prepare"}, {.name = "main"}});
    const std::string prepare = allocate("uid-p", "prepare", {"GPU-0-slot-0"});
    const std::string main = allocate("uid-p", "main", {"GPU-0-slot-0"});
    ASSERT_TRUE(start({"GPU-0-slot-0"}));
    const auto shares = cdi_.shares();
    ASSERT_EQ(shares.size(), 2U);
    EXPECT_EQ(shares.at(prepare).env[0].second, "GPU-0");
    EXPECT_EQ(shares.at(main).env[0].second, "GPU-1");
}

// Goal: kubelet's record of ended pods is stale: their entries neither get a share nor stop other
// pods. Method: a pod that is gone, one that finished, and one with other devices, beside the one
// meant.
TEST_F(ContainerStartByKubeletTest, StaleEntries) {
    put_pod(allocation({{"main", {}, {share(0, 4)}}}));
    PodInfo finished = build::pod("old", build::native(gibibytes(4)));
    finished.node = kNode;
    finished.finished = true;
    kube_.put_pod(finished);
    const std::string gone = allocate("uid-gone", "main", {"GPU-0-slot-0"});
    const std::string old = allocate("uid-old", "main", {"GPU-0-slot-0"});
    const std::string other = allocate("uid-p", "side", {"GPU-0-slot-5"});
    const std::string main = allocate("uid-p", "main", {"GPU-0-slot-0"});
    ASSERT_TRUE(start({"GPU-0-slot-0"}));
    const auto shares = cdi_.shares();
    EXPECT_EQ(shares.size(), 1U);
    EXPECT_TRUE(shares.contains(main));
    EXPECT_FALSE(shares.contains(gone) || shares.contains(old) || shares.contains(other));
}

// Goal: shares that kubelet no longer knows are removed, those that it knows stay.
TEST_F(ContainerStartByKubeletTest, OldSharesAreRemoved) {
    put_pod(allocation({{"main", {}, {share(0, 4)}}}));
    const std::string name = allocate("uid-p", "main", {"GPU-0-slot-0"});
    const std::string known = allocate("uid-gone", "main", {"GPU-0-slot-9"});
    ASSERT_TRUE(cdi_.write_share("forgotten", {}));
    ASSERT_TRUE(cdi_.write_share(known, {}));
    ASSERT_TRUE(start({"GPU-0-slot-0"}));
    const auto shares = cdi_.shares();
    EXPECT_FALSE(shares.contains("forgotten"));
    EXPECT_TRUE(shares.contains(known));
    EXPECT_TRUE(shares.contains(name));
}

// Goal: a container that is not known exactly does not start. Method: no entry, another resource,
// no allocation, a foreign one, no record, no API server, a folder that cannot be written.
TEST_F(ContainerStartByKubeletTest, FailsClosed) {
    EXPECT_EQ(start({"GPU-0-slot-0"}).error().code, Code::unavailable);
    EXPECT_EQ(plugins_.refreshes(), 1);

    const PodInfo unplaced = [] {
        PodInfo pod = build::pod("p", build::native(gibibytes(4)));
        pod.node = kNode;
        return pod;
    }();
    kube_.put_pod(unplaced);
    allocate("uid-p", "main", {"GPU-0-slot-0"});
    auto refused = start({"GPU-0-slot-0"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("was not placed by Tessera"), std::string::npos);
    EXPECT_FALSE(handler_by_kubelet_.pre_start("aliyun.com/gpu-mem", {"GPU-0-slot-0"}));

    Allocation foreign = allocation({{"main", {}, {share(0, 4)}}});
    foreign.pod = PodUid("uid-other");
    put_pod(foreign);
    EXPECT_EQ(start({"GPU-0-slot-0"}).error().code, Code::conflict);

    put_pod(allocation({{"main", {}, {share(0, 4)}}}));
    cdi_.refuse_next_write({Code::unavailable, "/var/run/cdi: read-only"});
    EXPECT_EQ(start({"GPU-0-slot-0"}).error().text, "/var/run/cdi: read-only");
    kube_.set_down(true);
    EXPECT_EQ(start({"GPU-0-slot-0"}).error().code, Code::unavailable);
    kube_.set_down(false);
    holders_.set(fail(Code::unavailable, "kubelet_internal_checkpoint: cannot be read"));
    EXPECT_EQ(start({"GPU-0-slot-0"}).error().code, Code::unavailable);
    EXPECT_TRUE(cdi_.shares().empty());
}

// Goal: a container whose GPU comes from gpushare's plugin starts again unchanged: no share is
// made.
TEST_F(ContainerStartByKubeletTest, StartsWhatGpushareHandedOver) {
    PodInfo pod = build::pod("p", build::aliyun(4));
    pod.uid = PodUid("uid-p");
    pod.node = kNode;
    kube_.put_pod(pod);
    holders_.add({.pod = pod.uid,
                  .container = "main",
                  .resource = "aliyun.com/gpu-mem",
                  .ids = {"GPU-0-_-0"},
                  .cdi_devices = {},
                  .by_former_plugin = true});
    EXPECT_TRUE(handler_by_kubelet_.pre_start("aliyun.com/gpu-mem", {"GPU-0-_-0"}));
    EXPECT_TRUE(cdi_.shares().empty());
}

// Goal: containers that start at once do not remove each other's share. Method: threads, each with
// a pod of its own. When a start succeeds, its share exists.
TEST_F(ContainerStartByKubeletTest, ConcurrentStarts) {
    constexpr int kPods = 8;
    holders_.on_list([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    std::atomic<int> missing = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < kPods; ++i) {
            threads.emplace_back([&, i] {
                const std::string name = "p" + std::to_string(i);
                PodInfo pod = build::pod(name, build::native(gibibytes(1)));
                pod = build::bound(pod, build::allocation(pod, "n1", {share(0, 1)}));
                kube_.put_pod(pod);
                const std::set<std::string> ids = {"GPU-0-slot-" + std::to_string(i)};
                const std::string made = allocate(pod.uid.str(), "main", ids);
                if (!start(ids)) ++missing;
                if (!cdi_.shares().contains(made)) ++missing;
            });
        }
    }
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(cdi_.shares().size(), static_cast<std::size_t>(kPods));
}

}  // namespace
}  // namespace tessera
