// Goal: a new dialect is one value and one row: no other code knows it. Method: a toy dialect with
// no resource of its own, from the pod's text to the start of its container.
#include "testing/extending/toy_dialect.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/agent/inventory/device_lists.hpp"
#include "domain/cluster/pod_request.hpp"
#include "domain/dialect/native.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/container_start_fixture.hpp"
#include "wire/kube/binding_annotations.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

const Dialects kWithToy({&kNativeDialect, &toy::kDialect});

PodInfo read_toy(const std::string& fraction, const AllocationSeal* seal = nullptr,
                 const Dialects& dialects = kWithToy) {
    const auto document = JsonDocument::parse(fmt::format(
        R"({{"metadata":{{"name":"p","uid":"uid-p","annotations":{{"example.com/gpu-fraction":"{}"}}}},)"
        R"("spec":{{"initContainers":[{{"name":"prepare"}}],"containers":[{{"name":"main"}}]}}}})",
        fraction));
    return read_pod(document->root(), seal, dialects);
}

Allocation place(const PodInfo& pod) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    const auto reserved = state.reserve(request_of(pod).value(), kNode);
    return reserved.value().allocation;
}

TEST(ToyDialect, AsksByAnAnnotationAlone) {
    const PodInfo pod = read_toy("0.25");
    ASSERT_TRUE(pod.request) << pod.request.error().text;
    ASSERT_EQ(pod.request->size(), 1U);
    EXPECT_EQ(pod.request->front().container, "main");
    EXPECT_TRUE(asks_for_gpus(pod));
    const PodInfo wrong = read_toy("half");
    ASSERT_FALSE(wrong.request);
    EXPECT_NE(wrong.request.error().text.find("write 0.01 to 0.99"), std::string::npos);
    EXPECT_FALSE(asks_for_gpus(read_toy("0.25", nullptr, all_dialects())))
        << "a program without the row does not know it";
    const auto without = kWithToy.only(std::vector<std::string>{"native"});
    EXPECT_NE(read_toy("0.25", nullptr, *without).request.error().text.find("switched off"),
              std::string::npos);
}

TEST(ToyDialect, IsPlacedAndAnnotated) {
    const Allocation allocation = place(read_toy("0.25"));
    EXPECT_EQ(allocation.dialect, &toy::kDialect);
    const GpuShare& share = allocation.containers.front().gpus.front();
    EXPECT_EQ(share.memory, gibibytes(4));
    EXPECT_EQ(share.cores, Percent{25});
    const StringMap annotations =
        binding_annotations(allocation, build::node("n1", 2, gibibytes(16)), 0, nullptr);
    EXPECT_EQ(annotations.at(std::string(toy::kGpuIndex)), std::to_string(share.index));
    const auto read = read_allocation(annotations.at("tessera.dev/allocation"), kWithToy);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, allocation);
    EXPECT_FALSE(read_allocation(annotations.at("tessera.dev/allocation")));
}

TEST(ToyDialect, ANodeShowsWhatTheRowSays) {
    const NodeInventory node = build::node("n1", 2, gibibytes(16));
    const DeviceLists lists = device_lists(node, {.dialects = &kWithToy});
    EXPECT_TRUE(std::ranges::all_of(lists, [](const auto& list) {
        return kWithToy.of_resource(list.first) == &kNativeDialect;
    }));
}

class ToyDialectStart : public ContainerStartTest {};

// Goal: kubelet knows nothing of this container, so only a signature lets it start.
TEST_F(ToyDialectStart, StartsOnlyIfSigned) {
    const auto seal = AllocationSeal::from_keys(std::string(64, 'a'));
    ASSERT_TRUE(seal);
    Allocation allocation = place(read_toy("0.25"));
    allocation.containers.front().gpus.front().uuid = GpuUuid("GPU-0");  // of the fixture's node
    RuntimeContainer container = annotated("main", allocation);
    auto with = ports();
    with.dialects = &kWithToy;
    EXPECT_FALSE(ContainerStartHandler(with, kNode, Identity::nri, kByEnvironment)
                     .on_create_container(container));
    with.seal = &*seal;
    ContainerStartHandler handler(with, kNode, Identity::nri, kByEnvironment);
    EXPECT_FALSE(handler.on_create_container(container)) << "not signed";
    container.pod_annotations["tessera.dev/allocation-mac"] =
        seal->sign(container.pod_annotations.at("tessera.dev/allocation"));
    const auto edits = handler.on_create_container(container);
    ASSERT_TRUE(edits) << edits.error().text;
    EXPECT_NE(
        std::ranges::find(edits->env, "EXAMPLE_GPU", &std::pair<std::string, std::string>::first),
        edits->env.end());
}

}  // namespace
}  // namespace tessera
