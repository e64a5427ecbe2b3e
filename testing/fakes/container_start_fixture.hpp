// The fixture of the tests of ContainerStartHandler: a node with two GPUs of 16 GiB, and containers
// of a pod.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/agent/start/container_start_handler.hpp"
#include "domain/dialect/native.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_unshared_containers.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {

inline const NodeName kNode("n1");
// The runtime reads NVIDIA_VISIBLE_DEVICES, so no CDI device is needed.
inline const StartRules kByEnvironment = {.environment_handlers = {"default"}};
inline const std::string kGpuShare = "tessera.dev/gpu-share";

class ContainerStartTest : public ::testing::Test {
  protected:
    ContainerStartTest() {
        driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
        EXPECT_TRUE(gpus_.load());
    }
    static GpuShare share(int gpu, int gib) {
        return {GpuUuid("GPU-" + std::to_string(gpu)), gpu, gibibytes(gib), {}, false};
    }
    static Allocation allocation(std::vector<ContainerAllocation> containers) {
        return {PodUid("uid-p"), kNode, &kNativeDialect, std::move(containers)};
    }
    static RuntimeContainer container(const std::string& name) {
        RuntimeContainer out;
        out.id = "id-" + name;
        out.name = name;
        out.setup.name = name;
        out.running = true;
        out.pod_uid = PodUid("uid-p");
        out.pod = {"default", "p"};
        return out;
    }
    // A container whose pod has this allocation as its annotation.
    static RuntimeContainer annotated(const std::string& name, const Allocation& allocation) {
        RuntimeContainer out = container(name);
        out.pod_annotations["tessera.dev/allocation"] = write_allocation(allocation);
        return out;
    }
    // The same, and kubelet's record says that it has a device.
    RuntimeContainer given(const std::string& name, const Allocation& allocation) {
        holds("uid-p", name, {"slot of " + name});
        return annotated(name, allocation);
    }
    void holds(const std::string& pod, const std::string& name, std::set<std::string> ids,
               std::vector<std::string> cdi = {}, const std::string& resource = kGpuShare) {
        holders_.add({PodUid(pod), name, resource, std::move(ids), std::move(cdi)});
    }

    ContainerStartPorts ports(Enforcers enforcers = {}, ResizedAllocations* resized = nullptr) {
        return {.gpus = gpus_,
                .kube = kube_,
                .holders = holders_,
                .plugins = plugins_,
                .cdi = cdi_,
                .seal = nullptr,
                .enforcers = std::move(enforcers),
                .resized = resized,
                .unshared = &unshared_};
    }
    // The containers that are found to run without their share when the runtime connects.
    std::vector<UnsharedContainer> unshared(ContainerStartHandler& handler,
                                            const std::vector<RuntimeContainer>& containers) {
        unshared_.list.clear();
        handler.synchronize(containers);
        return unshared_.take();
    }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    FakeDevicePluginHost plugins_;
    FakeDeviceHolders holders_;
    FakeCdiStore cdi_;
    FakeUnsharedContainers unshared_;
    GpuMonitor gpus_{driver_, kube_, plugins_, {.node = kNode, .lists = {}, .publishing = {}}};
    ContainerStartHandler handler_{ports(), kNode, Identity::nri, kByEnvironment};
};

}  // namespace tessera
