#include "wire/extender/inspect_json.hpp"

#include <gtest/gtest.h>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

std::string inspect(ClusterState& state) {
    const auto snapshot = state.snapshot();
    std::vector<const NodeInfo*> nodes;
    for (const auto& node : snapshot->nodes())
        nodes.push_back(node.get());
    return write_inspect(nodes);
}

void put(ClusterState& state, const std::string& name, std::vector<ContainerSpec> containers) {
    const PodInfo pod = build::pod(name, std::move(containers));
    const auto made = state.reserve(build::request(pod), NodeName("n1"));
    ASSERT_TRUE(made) << made.error().text;
}

// Goal: the text is gpushare's, key for key, with nodes, GPUs and pods in order.
TEST(Inspect, Text) {
    ClusterState state;
    EXPECT_EQ(inspect(state), R"({"nodes":[]})");
    state.set_node(build::node("n2", 0, {}));
    state.set_node(build::node("n1", 2, gibibytes(16)));
    put(state, "b", build::aliyun(8));
    put(state, "a", build::aliyun(8));
    put(state, "c", build::aliyun(4));
    EXPECT_EQ(inspect(state), R"({"nodes":[{"name":"n1","totalGPU":32,"usedGPU":20,"devs":[)"
                              R"({"id":0,"totalGPU":16,"usedGPU":16,"pods":[)"
                              R"({"name":"a","namespace":"default","usedGPU":8},)"
                              R"({"name":"b","namespace":"default","usedGPU":8}]},)"
                              R"({"id":1,"totalGPU":16,"usedGPU":4,"pods":[)"
                              R"({"name":"c","namespace":"default","usedGPU":4}]}]},)"
                              R"({"name":"n2","totalGPU":0,"usedGPU":0,"devs":[]}]})");
}

// Goal: every pod that has GPU memory is listed with its amounts: a pod that is being deleted, a
// pod on each of its GPUs, and a pod that gpushare started by its annotation, whatever its limits
// say.
TEST(Inspect, ListsWhoHolds) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    put(state, "both", build::native(gibibytes(3), 2));
    PodInfo ending = build::pod("ending", build::aliyun(2));
    ending = build::bound(
        ending,
        build::allocation(ending, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(2), {}, false}}));
    ending.terminating = true;
    state.set_pod(ending);
    PodInfo old = build::legacy_bound(build::pod("old", build::aliyun(4)), "n1", 1, 6);
    old.started = true;
    state.set_pod(old);
    EXPECT_EQ(inspect(state), R"({"nodes":[{"name":"n1","totalGPU":32,"usedGPU":14,"devs":[)"
                              R"({"id":0,"totalGPU":16,"usedGPU":5,"pods":[)"
                              R"({"name":"both","namespace":"default","usedGPU":3},)"
                              R"({"name":"ending","namespace":"default","usedGPU":2}]},)"
                              R"({"id":1,"totalGPU":16,"usedGPU":9,"pods":[)"
                              R"({"name":"both","namespace":"default","usedGPU":3},)"
                              R"({"name":"old","namespace":"default","usedGPU":6}]}]}]})");
}

// Goal: amounts that are not whole units are rounded up, so that no free memory is shown that does
// not exist.
TEST(Inspect, RoundsUp) {
    ClusterState state;
    state.set_node(build::node("n1", 1, gibibytes(16)));
    put(state, "half", build::native(mebibytes(1536)));
    const std::string text = inspect(state);
    EXPECT_NE(text.find(R"("usedGPU":2)"), std::string::npos) << text;
}

// Goal: a node of gpushare's plugin whose total cannot be divided evenly shows the total, as
// gpushare did.
TEST(Inspect, LegacySumIsTheNodesOwn) {
    ClusterState state;
    NodeInventory node = build::legacy_node("n4", 3, 15);
    node.gpu_mem = 47;
    state.set_node(node);
    EXPECT_EQ(inspect(state), R"({"nodes":[{"name":"n4","totalGPU":47,"usedGPU":0,"devs":[)"
                              R"({"id":0,"totalGPU":15,"usedGPU":0,"pods":[]},)"
                              R"({"id":1,"totalGPU":15,"usedGPU":0,"pods":[]},)"
                              R"({"id":2,"totalGPU":15,"usedGPU":0,"pods":[]}]}]})");
}

}  // namespace
}  // namespace tessera
