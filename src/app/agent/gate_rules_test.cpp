// Goal: a share is handed over only where it arrives whole and is in force; a container that asks
// for no GPU sees none.
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"
#include "testing/fakes/gate_fixture.hpp"

namespace tessera {
namespace {

class GateRules : public GateTest {
  protected:
    GateRules() {
        cdi_.add_vendor_device("GPU-0");
        cdi_.add_vendor_device("GPU-1");
        gate_by_cdi_.on_runtime({"containerd", "v2.3.7"});
    }
    RuntimeContainer placed() { return given("main", allocation({{"main", {}, {share(0, 4)}}})); }
    // As the runtime shows it once it is made, if it did all that it was asked.
    static RuntimeContainer made(RuntimeContainer container, const ContainerEdits& edits) {
        for (const auto& [name, value] : edits.env)
            container.env.push_back(name + "=" + value);
        container.setup.devices.emplace_back("/dev/nvidia0");
        container.pid = 42;
        return container;
    }
    std::string refusal(const RuntimeContainer& container) {
        const auto edits = gate_by_cdi_.complete(container);
        return edits ? "" : edits.error().text;
    }

    FakeShareHolder holder_;
    StartRules rules_{.environment_handlers = {"nvidia"},
                      .unrestricted_namespaces = {"monitoring"},
                      .preload_merge_from = {"/opt/apm"}};
    GatePorts ports_ = ports(&holder_);
    Gate gate_by_cdi_{ports_, kNode, Identity::nri, rules_};
};

// Goal: a GPU that no CDI device brings goes only to a runtime that reads the environment.
TEST_F(GateRules, NothingToHandOver) {
    RuntimeContainer container = given("main", allocation({{"main", {}, {share(0, 4)}}}));
    FakeCdiStore none;
    ports_.holder = nullptr;
    Gate gate({cards_, kube_, holders_, plugins_, none, nullptr}, kNode, Identity::nri, rules_);
    const auto refused = gate.complete(container);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unavailable);
    for (const char* part : {"Tessera: ", "no CDI device for GPU-0 in /etc/cdi", "--cdi-kind",
                             "runtimeClassName", "nvidia"})
        EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
    container.setup.runtime_handler = "nvidia";
    EXPECT_TRUE(gate.complete(container));
}

// Goal: a runtime that would leave the GPU out gets no GPU container, by NRI; by kubelet's own CDI
// names it works.
TEST_F(GateRules, RuntimesThatDropCdiDevices) {
    gate_by_cdi_.on_runtime({"containerd", "v2.0.5"});
    EXPECT_NE(refusal(placed()).find("containerd v2.0.5 ignores CDI devices"), std::string::npos);
    EXPECT_EQ(refusal(container("plain")), "");
    gate_by_cdi_.on_runtime({"containerd", "v2.1.0"});
    EXPECT_EQ(refusal(placed()), "");
}

TEST_F(GateRules, HandlersWithAKernelOfTheirOwn) {
    RuntimeContainer sandboxed = placed();
    sandboxed.setup.runtime_handler = "runsc";
    EXPECT_NE(refusal(sandboxed).find("runtime handler runsc"), std::string::npos);
}

// Goal: a pod's own mounts do not cover ours; the list of a tracing agent is merged where allowed.
TEST_F(GateRules, MountsOfThePod) {
    RuntimeContainer covered = placed();
    covered.setup.mounts = {{"/etc/ld.so.preload/", "/pods/x/volumes/cm/settings", true}};
    EXPECT_NE(refusal(covered).find("/etc/ld.so.preload/"), std::string::npos);
    EXPECT_TRUE(holder_.held.empty()) << "refused before anything is made";
    covered.setup.mounts = {{"/etc/ld.so.preload", "/opt/apm/ld.so.preload", true}};
    EXPECT_EQ(refusal(covered), "");
    EXPECT_EQ(holder_.preload_lists, std::vector<std::string>{"/opt/apm/ld.so.preload"});
    covered.setup.mounts = {{"/data", "/pods/x/volumes/pvc/data", false}};
    EXPECT_EQ(refusal(covered), "");
    EXPECT_EQ(holder_.preload_lists.back(), "");
}

TEST_F(GateRules, PrivilegedContainers) {
    RuntimeContainer privileged = placed();
    privileged.setup.is_privileged = true;
    const auto edits = gate_by_cdi_.complete(privileged);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env.back(),
              (std::pair<std::string, std::string>("CUDA_VISIBLE_DEVICES", "GPU-0")));
    RuntimeContainer twice = privileged;
    twice.env = {"CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=0"};
    EXPECT_NE(refusal(twice).find("CUDA_VISIBLE_DEVICES 2 times"), std::string::npos);
    twice.setup.is_privileged = false;  // the variable is its own
    EXPECT_EQ(refusal(twice), "");
    rules_.refuse_privileged = true;
    Gate strict(ports_, kNode, Identity::nri, rules_);
    EXPECT_EQ(strict.complete(privileged).error().code, Code::permission_denied);
    EXPECT_TRUE(strict.complete(placed()));
}

// Goal: a container that asked for no GPU, a debug container in a pod with a share among them, gets
// none by its image's environment.
TEST_F(GateRules, ContainersWithoutAShareSeeNoGpu) {
    RuntimeContainer debug = annotated("debugger", allocation({{"main", {}, {share(0, 4)}}}));
    debug.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    const auto edits = gate_by_cdi_.complete(debug);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env, (Environment{{"NVIDIA_VISIBLE_DEVICES", "void"}}));
    EXPECT_TRUE(edits->cdi_devices.empty());
    debug.pod.space = "monitoring";
    EXPECT_EQ(gate_by_cdi_.complete(debug), ContainerEdits{});
    debug.pod.space = "default";
    debug.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all");
    EXPECT_NE(refusal(debug).find("2 times"), std::string::npos);
}

// Goal: while kubelet's record cannot be read, whether GPUs that a container names were given to it
// by another plugin is not known: it waits. One that asks for all of them gets none, as ever.
TEST_F(GateRules, NamedGpusWaitForKubeletsRecord) {
    RuntimeContainer other = container("other");
    other.env = {"NVIDIA_VISIBLE_DEVICES=GPU-1"};
    holders_.set(fail(Code::unsupported, "kubelet's checkpoint: another form"));
    EXPECT_NE(refusal(other).find("names GPUs in NVIDIA_VISIBLE_DEVICES"), std::string::npos);
    other.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    const auto edits = gate_by_cdi_.complete(other);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env, (Environment{{"NVIDIA_VISIBLE_DEVICES", "void"}}));
}

// Goal: what the runtime left out, or what covers our files, is seen before the program runs.
TEST_F(GateRules, VerifiesWhatTheRuntimeDid) {
    const RuntimeContainer container = placed();
    const auto edits = gate_by_cdi_.complete(container);
    ASSERT_TRUE(edits);
    const RuntimeContainer good = made(container, *edits);
    EXPECT_TRUE(gate_by_cdi_.verify(good));
    RuntimeContainer bad = good;
    bad.setup.devices.clear();
    EXPECT_NE(gate_by_cdi_.verify(bad).error().text.find("device /dev/nvidia0"), std::string::npos);
    const auto found = unshared_.take();
    ASSERT_EQ(found.size(), 1U) << "a runtime may start it all the same";
    EXPECT_EQ(found[0].pid, 42);
    EXPECT_NE(found[0].reason.find("device /dev/nvidia0"), std::string::npos);
    bad = good;
    bad.env.clear();
    EXPECT_NE(gate_by_cdi_.verify(bad).error().text.find("the environment"), std::string::npos);
    bad = good;
    bad.env.push_back(bad.env.front());
    EXPECT_FALSE(gate_by_cdi_.verify(bad));
    holder_.covered = {42, 0};
    EXPECT_NE(gate_by_cdi_.verify(good).error().text.find("covered"), std::string::npos);
    bad = good;
    bad.pid = 0;
    EXPECT_TRUE(gate_by_cdi_.verify(bad)) << "the runtime names no process";
}

// Goal: a variable of ours that the pod or its image sets twice is named, and no runtime is blamed.
TEST_F(GateRules, VariablesThatStandTwice) {
    for (const std::string name : {"NVIDIA_VISIBLE_DEVICES", "TESSERA_GPU_MEMORY_BYTES"}) {
        RuntimeContainer twice = placed();
        twice.env = {name + "=1", name + "=2"};
        EXPECT_NE(refusal(twice).find("sets " + name + " 2 times"), std::string::npos);
        twice.env.pop_back();
        EXPECT_EQ(refusal(twice), "");
    }
}

// Goal: a container that another device plugin gave a GPU keeps it.
TEST_F(GateRules, GpusOfAnotherPlugin) {
    holds("uid-p", "other", {"GPU-7"}, {}, "nvidia.com/gpu");
    RuntimeContainer other = container("other");
    other.env = {"NVIDIA_VISIBLE_DEVICES=GPU-7"};
    EXPECT_EQ(gate_by_cdi_.complete(other), ContainerEdits{});
    other.name = "sidecar";
    EXPECT_NE(gate_by_cdi_.complete(other), ContainerEdits{});
}

// Goal: after a restart of the agent the mounts of containers that run are watched, and those of
// containers that started without the guard, or with the mounts of another release, are not.
TEST_F(GateRules, WatchesTheMountsOfContainersThatRun) {
    FakeProcessTable processes;
    processes.pods = {{42, PodUid("uid-p")}};
    FakePodEvents events;
    MountWatch watch({holder_, processes, events}, true);
    ports_.mounts = &watch;
    const RuntimeContainer starting = placed();
    const auto edits = gate_by_cdi_.complete(starting);
    ASSERT_TRUE(edits);
    RuntimeContainer runs = made(starting, *edits);
    Gate gate(ports_, kNode, Identity::nri, rules_);  // that of the agent which comes after
    holder_.covered = {42};
    runs.setup.mounts = {{.destination = "/guard", .source = "/x"}};
    EXPECT_TRUE(unshared(gate, {runs}).empty());
    watch.look();
    EXPECT_TRUE(events.told.empty());
    EXPECT_TRUE(processes.ended.empty());
    // Files of an agent that had another folder.
    runs.setup.mounts.push_back({.destination = "/etc/ld.so.preload", .source = "/elsewhere"});
    EXPECT_TRUE(unshared(gate, {runs}).empty());
    watch.look();
    EXPECT_TRUE(events.told.empty());
    runs.setup.mounts.push_back({.destination = "/etc/ld.so.preload", .source = "/y"});
    EXPECT_TRUE(unshared(gate, {runs}).empty());
    watch.look();
    EXPECT_EQ(events.told.size(), 1U);
}

// Goal: the runtime starts a container without asking when the agent answered too late, and
// synchronizes then: what this agent completed is checked as at its start. What an earlier agent
// completed is not, since its devices and mounts are those of that time.
TEST_F(GateRules, ChecksAtSynchronizeWhatItHasNotVerified) {
    const RuntimeContainer starting = placed();
    const auto edits = gate_by_cdi_.complete(starting);
    ASSERT_TRUE(edits);
    const RuntimeContainer good = made(starting, *edits);
    RuntimeContainer without_device = good;
    without_device.setup.devices.clear();
    Gate earlier(ports_, kNode, Identity::nri, rules_);
    EXPECT_TRUE(unshared(earlier, {without_device}).empty());
    const auto found = unshared(gate_by_cdi_, {without_device});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, starting.id);
    EXPECT_NE(found[0].reason.find("device /dev/nvidia0"), std::string::npos);
    holder_.covered = {42};
    EXPECT_EQ(unshared(gate_by_cdi_, {good}).size(), 1U);
    holder_.covered = {};
    EXPECT_TRUE(unshared(gate_by_cdi_, {good}).empty());
    EXPECT_TRUE(unshared(gate_by_cdi_, {without_device}).empty()) << "it was verified";
}

// Goal: a container that was verified as it started, and one with its name that started later.
TEST_F(GateRules, AVerifiedContainerIsNotCheckedAgain) {
    const RuntimeContainer starting = placed();
    const auto edits = gate_by_cdi_.complete(starting);
    ASSERT_TRUE(edits);
    RuntimeContainer runs = made(starting, *edits);
    EXPECT_TRUE(gate_by_cdi_.verify(runs));
    runs.setup.devices.clear();
    EXPECT_TRUE(unshared(gate_by_cdi_, {runs}).empty());
    runs.id = "id-of-the-next";
    ASSERT_TRUE(gate_by_cdi_.complete(runs));
    EXPECT_EQ(unshared(gate_by_cdi_, {runs}).size(), 1U);
}

TEST_F(GateRules, VerifiesNothingOfOthers) {
    EXPECT_TRUE(gate_by_cdi_.verify(container("plain")));
    holders_.set(fail(Code::unavailable, "no checkpoint"));
    EXPECT_TRUE(gate_by_cdi_.verify(container("plain")));
    EXPECT_FALSE(gate_by_cdi_.verify(annotated("main", allocation({{"main", {}, {share(0, 4)}}}))));
}

// Goal: where kubelet's record identifies the container, the pod's specification is held to the
// same rules.
TEST_F(GateRules, ByThePodsSpecification) {
    Gate gate(ports_, kNode, Identity::kubelet, rules_);
    kube_.put_pod(build::bound(build::pod("p", build::native(gibibytes(4))),
                               allocation({{"main", {}, {share(0, 4)}}})));
    holds("uid-p", "main", {"a"}, *gate.allocate(kSlots, {"a"}));
    const auto start = [&](ContainerSetup setup) {
        setup.name = "main";
        kube_.put_setups(PodUid("uid-p"), {std::move(setup)});
        const auto started = gate.pre_start(kSlots, {"a"});
        return started ? "" : started.error().text;
    };
    EXPECT_NE(start({.mounts = {{"/etc/ld.so.preload/", "", true, "settings"}}})
                  .find("volume settings is mounted at /etc/ld.so.preload/"),
              std::string::npos);
    EXPECT_NE(start({.runtime_handler = "kata"}).find("kata"), std::string::npos);
    EXPECT_EQ(start({.is_privileged = true}), "");
    EXPECT_EQ(cdi_.shares().begin()->second.env.back().first, "CUDA_VISIBLE_DEVICES");
    kube_.put_setups(PodUid("uid-p"), {{.name = "other"}});
    const auto unknown = gate.pre_start(kSlots, {"a"});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().text.find("container main, which the pod's specification"),
              std::string::npos);
    gate.on_runtime({"containerd", "v2.0.5"});
    EXPECT_EQ(start({}), "") << "kubelet's own CDI devices are carried out";
}

}  // namespace
}  // namespace tessera
