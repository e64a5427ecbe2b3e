#include <gtest/gtest.h>

#include <optional>

#include "domain/placement/nominees.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: a pod with GPUs whose allocation was changed or removed while the controller was away
// blocks its node until the pod is gone, so that its GPUs are not assigned twice. A pod that never
// started has nothing. Neither has one that gpushare's plugin started without a GPU.
TEST(StateUnattributed, RunsWithAGpuThatNobodyKnows) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    state.set_node(build::legacy_node("old", 1, 16));
    const auto blocked = [&](const char* node) { return state.snapshot()->find(node)->blocked; };
    const std::vector<std::optional<Result<Allocation>>> what_is_left = {
        std::nullopt,
        fail(Code::permission_denied, "allocation: tessera.dev/allocation-mac is missing"),
        build::allocation(build::pod("another", build::aliyun(8)), "n1",
                          {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}),
    };
    for (const auto& allocation : what_is_left) {
        PodInfo pod = build::pod("p", build::aliyun(8));
        pod.node = NodeName("n1");
        pod.allocation = allocation;
        state.set_pod(pod);
        EXPECT_EQ(blocked("n1"), "");
        for (const GpuState& gpu : state.snapshot()->find("n1")->gpus)
            EXPECT_EQ(gpu.allocated, Bytes{});
        pod.started = true;
        state.set_pod(pod);
        EXPECT_NE(blocked_for(*state.snapshot()->find("n1"), Reader::of("default"))
                      .find("pod default/p runs with a GPU"),
                  std::string::npos);
        EXPECT_FALSE(
            state.reserve(build::request(build::pod("next", build::aliyun(1))), NodeName("n1")));
        state.remove_pod(pod.uid);
        EXPECT_EQ(blocked("n1"), "");

        pod.node = NodeName("old");
        state.set_pod(pod);
        EXPECT_EQ(blocked("old"), "");
        state.remove_pod(pod.uid);
    }
}

// Goal: a copied pod that its manifest binds to a node has the allocation of another pod, signed or
// not, readable or not. The agent starts no copy, and the node stays open for others.
TEST(StateUnattributed, CopiesKeepNoNodeClosed) {
    const std::vector<Result<Allocation>> copied = {
        build::allocation(build::pod("first", build::aliyun(8)), "n1",
                          {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}),
        fail(Code::permission_denied, "allocation: tessera.dev/allocation-mac is missing"),
        fail(Code::conflict, "allocation: it was made for another pod"),
        fail(Code::invalid_argument, "allocation.pod: missing"),
    };
    for (const auto& allocation : copied) {
        ClusterState state;
        state.set_node(build::node("n1", 1, gibibytes(16)));
        PodInfo copy = build::pod("copy", build::aliyun(8));
        copy.node = NodeName("n1");
        copy.allocation = allocation;
        state.set_pod(copy);
        EXPECT_EQ(state.snapshot()->find("n1")->blocked, "");
        EXPECT_TRUE(
            state.reserve(build::request(build::pod("next", build::aliyun(16))), NodeName("n1")));
    }
}

// Goal: users of other namespaces see that a pod blocks its node, but not the pod's name.
TEST(StateUnattributed, NamesThePodToItsOwnNamespaceAlone) {
    for (const bool is_newer : {false, true}) {
        ClusterState state;
        state.set_node(build::node("n1", 1, gibibytes(16)));
        PodInfo pod = build::pod("secret-pod", build::aliyun(8));
        pod.name.ns = "secret-team";
        pod.node = NodeName("n1");
        pod.started = true;
        pod.allocation =
            fail(is_newer ? Code::unsupported : Code::permission_denied, "allocation: secret");
        state.set_pod(pod);
        const auto made =
            state.reserve(build::request(build::pod("next", build::aliyun(1))), NodeName("n1"));
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().text.find("secret"), std::string::npos) << made.error().text;
        const auto snapshot = state.snapshot();
        const NodeInfo& node = *snapshot->find("n1");
        EXPECT_EQ(node.blocked.find("secret"), std::string::npos);
        for (const Reader& reader : {Reader::of("secret-team"), Reader::of_all()})
            EXPECT_NE(blocked_for(node, reader).find("secret-team/secret-pod"), std::string::npos);
    }
}

// Goal: if gpushare's plugin serves the node, it obeys gpushare's annotations, whatever our
// annotation says (unsigned: placed before there was a key). Its allocations count.
TEST(StateUnattributed, GpusharesPluginGaveAGpu) {
    ClusterState state;
    state.set_node(build::legacy_node("old", 1, 16));
    PodInfo pod = build::legacy_bound(build::pod("p", build::aliyun(16)), "old", 0, 16);
    pod.allocation = fail(Code::permission_denied, "allocation-mac is missing");
    pod.started = true;
    state.set_pod(pod);
    EXPECT_FALSE(
        state.reserve(build::request(build::pod("next", build::aliyun(16))), NodeName("old")));
}

// Goal: if our agent serves the node, annotations give no GPU to a pod that never started. Its user
// wrote them (spec.nodeName and gpushare's annotations), and the agent refuses the pod.
TEST(StateUnattributed, GpusharesAnnotationsTakeNoGpu) {
    ClusterState state;
    state.set_node(build::node("n1", 1, gibibytes(16)));
    state.set_pod(build::legacy_bound(build::pod("p", build::aliyun(1)), "n1", 0, 16));
    EXPECT_EQ(state.snapshot()->find("n1")->gpus[0].allocated, Bytes{});
}

// Goal: the plugin that serves a node may be known later than its pods, and may change. A pod that
// gpushare's plugin started keeps its GPU after a takeover, even if it started after it was first
// seen.
TEST(StateUnattributed, PodsBeforeTheirNodeAndATakeover) {
    ClusterState state;
    const auto allocated = [&] { return state.snapshot()->find("n1")->gpus[0].allocated; };
    PodInfo pod = build::legacy_bound(build::pod("p", build::aliyun(8)), "n1", 0, 8);
    state.set_pod(pod);
    state.set_node(build::legacy_node("n1", 1, 16));
    EXPECT_EQ(allocated(), gibibytes(8));
    pod.started = true;
    state.set_pod(pod);
    state.set_node(build::node("n1", 1, gibibytes(16)));
    EXPECT_EQ(allocated(), gibibytes(8));

    state.set_pod(build::legacy_bound(build::pod("late", build::aliyun(4)), "n2", 0, 4));
    state.set_node(build::node("n2", 1, gibibytes(16)));
    EXPECT_EQ(state.snapshot()->find("n2")->gpus[0].allocated, Bytes{}) << "it was not started";
}

}  // namespace
}  // namespace tessera
