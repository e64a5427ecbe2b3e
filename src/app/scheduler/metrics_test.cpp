#include "app/scheduler/metrics.hpp"

#include <gtest/gtest.h>

#include "domain/cluster/state.hpp"
#include "domain/placement/binpack.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// Goal: the exposition that Prometheus scrapes: cards from the view, verbs as counted, units in the
// names.
TEST(Metrics, Exposition) {
    ClusterState state;
    NodeInventory node = build::node("n1", 2, gibibytes(16));
    node.gpus[1].healthy = false;
    state.set_node(node);
    const PodFacts pod = build::pod("p", build::native(gibibytes(4)));
    state.set_pod(build::bound(
        pod, build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    SchedulerMetrics metrics;
    metrics.observe("filter", std::chrono::microseconds(300), false);
    metrics.observe("filter", std::chrono::milliseconds(2), true);
    const std::string text = metrics.expose(*state.view(), 3, true, true);
    const std::string card0 = R"({gpu="0",node="n1",uuid="GPU-n1-0"})";
    const std::string card1 = R"({gpu="1",node="n1",uuid="GPU-n1-1"})";
    EXPECT_TRUE(has_line(text, "tessera_gpu_capacity_bytes" + card0 + " 17179869184")) << text;
    EXPECT_TRUE(has_line(text, "tessera_gpu_held_bytes" + card0 + " 4294967296")) << text;
    EXPECT_TRUE(has_line(text, "tessera_gpu_healthy" + card0 + " 1"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_healthy" + card1 + " 0"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_overcommitted 0"));
    EXPECT_TRUE(has_line(text, "tessera_bindings_unseen 0"));
    EXPECT_TRUE(has_line(text, "tessera_pending_pods 3"));
    EXPECT_TRUE(has_line(text, "tessera_view_synced 1"));
    EXPECT_TRUE(has_line(text, R"(tessera_extender_errors_total{verb="filter"} 1)"));
    EXPECT_TRUE(has_line(text, R"(tessera_extender_request_seconds_count{verb="filter"} 2)"));
    EXPECT_TRUE(
        has_line(text, R"(tessera_extender_request_seconds_bucket{verb="filter",le="0.0005"} 1)"));
    EXPECT_NE(text.find("# HELP tessera_gpu_held_bytes "), std::string::npos);
    EXPECT_NE(text.find("# TYPE tessera_gpu_held_bytes gauge"), std::string::npos);
}

// Goal: what someone on call looks for first: cards that were given out twice, Bindings that nobody
// has seen, and trouble with the API server.
TEST(Metrics, Faults) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    for (const char* name : {"a", "b"}) {
        const PodFacts pod = build::pod(name, build::native(gibibytes(10)));
        state.set_pod(build::bound(
            pod,
            build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(10), {}, false}})));
    }
    const PodFacts pod = build::pod("p", build::native(gibibytes(1)));
    ASSERT_TRUE(state.reserve(pod.uid, pod.name, NodeName("n1"), build::request(pod.containers),
                              binpack_policy()));
    SchedulerMetrics metrics;
    metrics.count_api_trouble();
    const std::string text = metrics.expose(*state.view(), 0, true, true);
    EXPECT_TRUE(has_line(text, "tessera_gpu_overcommitted 1")) << text;
    EXPECT_TRUE(has_line(text, "tessera_bindings_unseen 1"));
    EXPECT_TRUE(has_line(text, "tessera_api_trouble_total 1"));
}

// Goal: a card that is gone is not shown for ever; counters stay.
TEST(Metrics, GoneCardsAreGone) {
    ClusterState state;
    SchedulerMetrics metrics;
    metrics.observe("bind", std::chrono::milliseconds(1), true);
    state.set_node(build::node("n1", 1, gibibytes(16)));
    EXPECT_NE(metrics.expose(*state.view(), 0, false, false).find("GPU-n1-0"), std::string::npos);
    state.remove_node(NodeName("n1"));
    const std::string text = metrics.expose(*state.view(), 0, false, false);
    EXPECT_EQ(text.find("GPU-n1-0"), std::string::npos);
    EXPECT_TRUE(has_line(text, R"(tessera_extender_errors_total{verb="bind"} 1)"));
    EXPECT_TRUE(has_line(text, "tessera_view_synced 0"));
}

}  // namespace
}  // namespace tessera
