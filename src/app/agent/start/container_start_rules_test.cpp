// Goal: a share is handed over only if it reaches the container complete and can be enforced. A
// container that requests no GPU sees none.
#include "testing/builders/builders.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "testing/fakes/fake_enforcer.hpp"
#include "testing/fakes/fake_pod_events.hpp"
#include "testing/fakes/fake_process_table.hpp"

namespace tessera {
namespace {

class ContainerStartRulesTest : public ContainerStartTest {
  protected:
    ContainerStartRulesTest() {
        cdi_.add_vendor_device("GPU-0");
        cdi_.add_vendor_device("GPU-1");
        handler_by_cdi_.on_runtime({"containerd", "v2.3.7"});
    }
    RuntimeContainer placed() { return given("main", allocation({{"main", {}, {share(0, 4)}}})); }
    // The created container as the runtime shows it if it did everything that it was asked.
    static RuntimeContainer made(RuntimeContainer container, const ContainerEdits& edits) {
        for (const auto& [name, value] : edits.env)
            container.env.push_back(name + "=" + value);
        container.setup.devices.emplace_back("/dev/nvidia0");
        container.pid = 42;
        return container;
    }
    std::string refusal(const RuntimeContainer& container) {
        const auto edits = handler_by_cdi_.on_create_container(container);
        return edits ? "" : edits.error().text;
    }

    FakeEnforcer holder_;
    StartRules rules_{.environment_handlers = {"nvidia"},
                      .unrestricted_namespaces = {"monitoring"},
                      .preload_merge_from = {"/opt/apm"}};
    ContainerStartPorts ports_ = ports(Enforcers({&holder_}));
    ContainerStartHandler handler_by_cdi_{ports_, kNode, Identity::nri, rules_};
};

// Goal: a GPU that no CDI device covers goes only to a runtime that reads the environment.
TEST_F(ContainerStartRulesTest, NothingToHandOver) {
    RuntimeContainer container = given("main", allocation({{"main", {}, {share(0, 4)}}}));
    FakeCdiStore none;
    ports_.enforcers = {};
    ContainerStartHandler handler({gpus_, kube_, holders_, plugins_, none, nullptr}, kNode,
                                  Identity::nri, rules_);
    const auto refused = handler.on_create_container(container);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unavailable);
    for (const char* part : {"Tessera: ", "no CDI device for GPU-0 in /etc/cdi", "--cdi-kind",
                             "runtimeClassName", "nvidia"})
        EXPECT_NE(refused.error().text.find(part), std::string::npos) << refused.error().text;
    container.setup.runtime_handler = "nvidia";
    EXPECT_TRUE(handler.on_create_container(container));
}

// Goal: with NRI, a runtime that drops CDI devices gets no GPU container. With kubelet's own CDI
// names it works.
TEST_F(ContainerStartRulesTest, RuntimesThatDropCdiDevices) {
    handler_by_cdi_.on_runtime({"containerd", "v2.0.5"});
    EXPECT_NE(refusal(placed()).find("containerd v2.0.5 ignores CDI devices"), std::string::npos);
    EXPECT_EQ(refusal(container("plain")), "");
    handler_by_cdi_.on_runtime({"containerd", "v2.1.0"});
    EXPECT_EQ(refusal(placed()), "");
}

TEST_F(ContainerStartRulesTest, HandlersWithAKernelOfTheirOwn) {
    RuntimeContainer sandboxed = placed();
    sandboxed.setup.runtime_handler = "runsc";
    EXPECT_NE(refusal(sandboxed).find("runtime handler runsc"), std::string::npos);
}

// Goal: a pod's own mounts do not cover ours; the list of a tracing agent is merged where allowed.
TEST_F(ContainerStartRulesTest, MountsOfThePod) {
    RuntimeContainer covered = placed();
    covered.setup.mounts = {{"/etc/ld.so.preload/", "/pods/x/volumes/cm/settings", true}};
    EXPECT_NE(refusal(covered).find("/etc/ld.so.preload/"), std::string::npos);
    EXPECT_TRUE(holder_.in_force.empty()) << "refused before any file is made";
    covered.setup.mounts = {{"/etc/ld.so.preload", "/opt/apm/ld.so.preload", true}};
    EXPECT_EQ(refusal(covered), "");
    ASSERT_EQ(holder_.prepared.size(), 1U);
    EXPECT_EQ(holder_.prepared[0].preload_list, "/opt/apm/ld.so.preload");
    covered.setup.mounts = {{"/data", "/pods/x/volumes/pvc/data", false}};
    EXPECT_EQ(refusal(covered), "");
    EXPECT_EQ(holder_.prepared.back().preload_list, "");
}

TEST_F(ContainerStartRulesTest, PrivilegedContainers) {
    RuntimeContainer privileged = placed();
    privileged.setup.is_privileged = true;
    const auto edits = handler_by_cdi_.on_create_container(privileged);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env.back(),
              (std::pair<std::string, std::string>("CUDA_VISIBLE_DEVICES", "GPU-0")));
    RuntimeContainer twice = privileged;
    twice.env = {"CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=0"};
    EXPECT_NE(refusal(twice).find("CUDA_VISIBLE_DEVICES 2 times"), std::string::npos);
    twice.setup.is_privileged = false;  // an unprivileged container may use this variable
    EXPECT_EQ(refusal(twice), "");
    rules_.refuse_privileged = true;
    ContainerStartHandler strict(ports_, kNode, Identity::nri, rules_);
    EXPECT_EQ(strict.on_create_container(privileged).error().code, Code::permission_denied);
    EXPECT_TRUE(strict.on_create_container(placed()));
}

// Goal: a container that requests no GPU gets none through its image's environment. That includes a
// debug container in a pod with a share.
TEST_F(ContainerStartRulesTest, ContainersWithoutAShareSeeNoGpu) {
    RuntimeContainer debug = annotated("debugger", allocation({{"main", {}, {share(0, 4)}}}));
    debug.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    const auto edits = handler_by_cdi_.on_create_container(debug);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env, (Environment{{"NVIDIA_VISIBLE_DEVICES", "void"}}));
    EXPECT_TRUE(edits->cdi_devices.empty());
    debug.pod.ns = "monitoring";
    EXPECT_EQ(handler_by_cdi_.on_create_container(debug), ContainerEdits{});
    debug.pod.ns = "default";
    debug.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all");
    EXPECT_NE(refusal(debug).find("2 times"), std::string::npos);
}

// Goal: while kubelet's record cannot be read, it is unknown whether another plugin gave a
// container the GPUs that it names, so the container waits. One that names all GPUs gets none, as
// always.
TEST_F(ContainerStartRulesTest, NamedGpusWaitForKubeletsRecord) {
    RuntimeContainer other = container("other");
    other.env = {"NVIDIA_VISIBLE_DEVICES=GPU-1"};
    holders_.set(fail(Code::unsupported, "kubelet's checkpoint: another form"));
    EXPECT_NE(refusal(other).find("names GPUs in NVIDIA_VISIBLE_DEVICES"), std::string::npos);
    other.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    const auto edits = handler_by_cdi_.on_create_container(other);
    ASSERT_TRUE(edits);
    EXPECT_EQ(edits->env, (Environment{{"NVIDIA_VISIBLE_DEVICES", "void"}}));
}

// Goal: the agent detects what the runtime left out, or what covers our files, before the program
// runs.
TEST_F(ContainerStartRulesTest, VerifiesWhatTheRuntimeDid) {
    const RuntimeContainer container = placed();
    const auto edits = handler_by_cdi_.on_create_container(container);
    ASSERT_TRUE(edits);
    const RuntimeContainer good = made(container, *edits);
    EXPECT_TRUE(handler_by_cdi_.verify(good));
    RuntimeContainer bad = good;
    bad.setup.devices.clear();
    EXPECT_NE(handler_by_cdi_.verify(bad).error().text.find("device /dev/nvidia0"),
              std::string::npos);
    const auto found = unshared_.take();
    ASSERT_EQ(found.size(), 1U) << "the runtime may start the container all the same";
    EXPECT_EQ(found[0].pid, 42);
    EXPECT_NE(found[0].reason.find("device /dev/nvidia0"), std::string::npos);
    bad = good;
    bad.env.clear();
    EXPECT_NE(handler_by_cdi_.verify(bad).error().text.find("the environment"), std::string::npos);
    bad = good;
    bad.env.push_back(bad.env.front());
    EXPECT_FALSE(handler_by_cdi_.verify(bad));
    holder_.covered = {42, 0};
    EXPECT_NE(handler_by_cdi_.verify(good).error().text.find("covered"), std::string::npos);
    bad = good;
    bad.pid = 0;
    EXPECT_TRUE(handler_by_cdi_.verify(bad)) << "the runtime names no process";
}

// Goal: an enforcer that limits a container by its cgroup or user gets both, before and after the
// container is created. If it cannot set its limits, the container does not start.
TEST_F(ContainerStartRulesTest, TellsEnforcersWhereTheProcessesAre) {
    RuntimeContainer container = placed();
    container.cgroup_path = "kubepods-pod1.slice:cri-containerd:id";
    container.user_id = 1000;
    const auto edits = handler_by_cdi_.on_create_container(container);
    ASSERT_TRUE(edits);
    RuntimeContainer created = made(container, *edits);
    created.pid = 0;
    EXPECT_TRUE(handler_by_cdi_.verify(created)) << "it needs no process";
    for (const auto* calls : {&holder_.prepared, &holder_.applied}) {
        ASSERT_EQ(calls->size(), 1U);
        EXPECT_EQ(calls->front().cgroup_path, container.cgroup_path);
        EXPECT_EQ(calls->front().user_id, 1000U);
    }
    holder_.refuse_next({Code::unavailable, "the driver refuses the limit"});
    EXPECT_EQ(handler_by_cdi_.verify(created).error().text,
              "Tessera: the driver refuses the limit");
}

// Goal: a container whose pod was placed to have its memory limited by the driver does not start
// with less.
TEST_F(ContainerStartRulesTest, StartsWithNoLessThanThePodWasPlacedFor) {
    RuntimeContainer container = placed();
    container.pod_annotations["tessera.dev/enforced-by"] = "memory=driver,compute=guard";
    const auto refused = handler_by_cdi_.on_create_container(container);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("placed so that driver limits its memory"),
              std::string::npos);
    container.pod_annotations["tessera.dev/enforced-by"] = "guard";
    EXPECT_TRUE(handler_by_cdi_.on_create_container(container));
}

// Goal: the error names a variable of ours that the pod or its image sets twice, and does not blame
// the runtime.
TEST_F(ContainerStartRulesTest, VariablesThatStandTwice) {
    for (const std::string name : {"NVIDIA_VISIBLE_DEVICES", "TESSERA_GPU_MEMORY_BYTES"}) {
        RuntimeContainer twice = placed();
        twice.env = {name + "=1", name + "=2"};
        EXPECT_NE(refusal(twice).find("sets " + name + " 2 times"), std::string::npos);
        twice.env.pop_back();
        EXPECT_EQ(refusal(twice), "");
    }
}

// Goal: a container that another device plugin gave a GPU keeps it.
TEST_F(ContainerStartRulesTest, GpusOfAnotherPlugin) {
    holds("uid-p", "other", {"GPU-7"}, {}, "nvidia.com/gpu");
    RuntimeContainer other = container("other");
    other.env = {"NVIDIA_VISIBLE_DEVICES=GPU-7"};
    EXPECT_EQ(handler_by_cdi_.on_create_container(other), ContainerEdits{});
    other.name = "sidecar";
    EXPECT_NE(handler_by_cdi_.on_create_container(other), ContainerEdits{});
}

// Goal: after a restart of the agent, the mounts of running containers are watched. Those of
// containers that started without the guard, or with the mounts of another release, are not.
TEST_F(ContainerStartRulesTest, WatchesTheMountsOfContainersThatRun) {
    FakeProcessTable processes;
    processes.pods = {{42, PodUid("uid-p")}};
    FakePodEvents events;
    MountWatch watch({Enforcers({&holder_}), processes, events}, true);
    ports_.mounts = &watch;
    const RuntimeContainer starting = placed();
    const auto edits = handler_by_cdi_.on_create_container(starting);
    ASSERT_TRUE(edits);
    RuntimeContainer runs = made(starting, *edits);
    ContainerStartHandler handler(ports_, kNode, Identity::nri,
                                  rules_);  // the next agent's handler
    holder_.covered = {42};
    runs.setup.mounts = {{.destination = "/guard", .source = "/x"}};
    EXPECT_TRUE(unshared(handler, {runs}).empty());
    watch.look();
    EXPECT_TRUE(events.reported.empty());
    EXPECT_TRUE(processes.ended.empty());
    // Files of an agent that had another folder.
    runs.setup.mounts.push_back({.destination = "/etc/ld.so.preload", .source = "/elsewhere"});
    EXPECT_TRUE(unshared(handler, {runs}).empty());
    watch.look();
    EXPECT_TRUE(events.reported.empty());
    runs.setup.mounts.push_back({.destination = "/etc/ld.so.preload", .source = "/y"});
    EXPECT_TRUE(unshared(handler, {runs}).empty());
    watch.look();
    EXPECT_EQ(events.reported.size(), 1U);
}

// Goal: if the agent answers too late, the runtime starts the container without asking, and then
// synchronizes. A container that this agent completed is checked as at its start. One that an
// earlier agent completed is not, because its devices and mounts date from that time.
TEST_F(ContainerStartRulesTest, ChecksAtSynchronizeWhatItHasNotVerified) {
    const RuntimeContainer starting = placed();
    const auto edits = handler_by_cdi_.on_create_container(starting);
    ASSERT_TRUE(edits);
    const RuntimeContainer good = made(starting, *edits);
    RuntimeContainer without_device = good;
    without_device.setup.devices.clear();
    ContainerStartHandler earlier(ports_, kNode, Identity::nri, rules_);
    EXPECT_TRUE(unshared(earlier, {without_device}).empty());
    const auto found = unshared(handler_by_cdi_, {without_device});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, starting.id);
    EXPECT_NE(found[0].reason.find("device /dev/nvidia0"), std::string::npos);
    holder_.covered = {42};
    EXPECT_EQ(unshared(handler_by_cdi_, {good}).size(), 1U);
    holder_.covered = {};
    EXPECT_TRUE(unshared(handler_by_cdi_, {good}).empty());
    EXPECT_TRUE(unshared(handler_by_cdi_, {without_device}).empty())
        << "this container was verified";
}

// Goal: a container that was verified as it started is not checked again. A later one with its name
// is.
TEST_F(ContainerStartRulesTest, AVerifiedContainerIsNotCheckedAgain) {
    const RuntimeContainer starting = placed();
    const auto edits = handler_by_cdi_.on_create_container(starting);
    ASSERT_TRUE(edits);
    RuntimeContainer runs = made(starting, *edits);
    EXPECT_TRUE(handler_by_cdi_.verify(runs));
    runs.setup.devices.clear();
    EXPECT_TRUE(unshared(handler_by_cdi_, {runs}).empty());
    runs.id = "id-of-the-next";
    ASSERT_TRUE(handler_by_cdi_.on_create_container(runs));
    EXPECT_EQ(unshared(handler_by_cdi_, {runs}).size(), 1U);
}

TEST_F(ContainerStartRulesTest, VerifiesNothingOfOthers) {
    EXPECT_TRUE(handler_by_cdi_.verify(container("plain")));
    holders_.set(fail(Code::unavailable, "no checkpoint"));
    EXPECT_TRUE(handler_by_cdi_.verify(container("plain")));
    EXPECT_FALSE(
        handler_by_cdi_.verify(annotated("main", allocation({{"main", {}, {share(0, 4)}}}))));
}

// Goal: if kubelet's record identifies the container, the pod's specification must follow the same
// rules.
TEST_F(ContainerStartRulesTest, ByThePodsSpecification) {
    ContainerStartHandler handler(ports_, kNode, Identity::kubelet, rules_);
    kube_.put_pod(build::bound(build::pod("p", build::native(gibibytes(4))),
                               allocation({{"main", {}, {share(0, 4)}}})));
    holds("uid-p", "main", {"a"}, *handler.allocate(kGpuShare, {"a"}));
    const auto start = [&](ContainerSetup setup) {
        setup.name = "main";
        kube_.put_setups(PodUid("uid-p"), {std::move(setup)});
        const auto started = handler.pre_start(kGpuShare, {"a"});
        return started ? "" : started.error().text;
    };
    EXPECT_NE(start({.mounts = {{"/etc/ld.so.preload/", "", true, "settings"}}})
                  .find("volume settings is mounted at /etc/ld.so.preload/"),
              std::string::npos);
    EXPECT_NE(start({.runtime_handler = "kata"}).find("kata"), std::string::npos);
    EXPECT_EQ(start({.is_privileged = true}), "");
    EXPECT_EQ(cdi_.shares().begin()->second.env.back().first, "CUDA_VISIBLE_DEVICES");
    kube_.put_setups(PodUid("uid-p"), {{.name = "other"}});
    const auto unknown = handler.pre_start(kGpuShare, {"a"});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().text.find("container main, which the pod's specification"),
              std::string::npos);
    handler.on_runtime({"containerd", "v2.0.5"});
    EXPECT_EQ(start({}), "") << "this runtime does inject kubelet's own CDI devices";
}

}  // namespace
}  // namespace tessera
