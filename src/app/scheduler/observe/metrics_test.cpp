#include "app/scheduler/observe/metrics.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

class Metrics : public ::testing::Test {
  protected:
    std::string expose(const WaitingCounts& waiting = {}, bool is_up = true) {
        const auto snapshot = state_.snapshot();
        return metrics_.expose(
            {.snapshot = *snapshot, .waiting = waiting, .synced = is_up, .leads = is_up});
    }

    FakeClock clock_;
    ClusterState state_;
    SchedulerMetrics metrics_{clock_, [] {
                                  return ProcessFacts{.program = "tessera-controller",
                                                      .resident = gibibytes(1),
                                                      .cpu = std::chrono::milliseconds(1'500),
                                                      .started_s = 1'800'000'000,
                                                      .open_files = 7};
                              }};
};

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// Goal: the exposition that Prometheus scrapes: GPUs from the snapshot, verbs as counted, units in
// the names.
TEST_F(Metrics, Exposition) {
    NodeInventory node = build::node("n1", 2, gibibytes(16));
    node.gpus[1].condition = GpuCondition::unhealthy;
    node.gpus[1].reason = "Xid 79";
    state_.set_node(node);
    const PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    state_.set_pod(build::bound(
        pod, build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}})));
    metrics_.observe("filter", std::chrono::microseconds(300), false);
    metrics_.observe("filter", std::chrono::milliseconds(2), true);
    WaitingCounts waiting{.not_refused = 3};
    waiting.by_reason[static_cast<std::size_t>(UnschedulableReason::memory)] = {
        2, std::chrono::minutes(5)};
    const std::string text = expose(waiting);
    const std::string gpu0 = R"({gpu="0",node="n1",uuid="GPU-n1-0"})";
    const std::string gpu1 = R"({gpu="1",node="n1",uuid="GPU-n1-1"})";
    EXPECT_TRUE(has_line(text, "tessera_gpu_capacity_bytes" + gpu0 + " 17179869184")) << text;
    EXPECT_TRUE(has_line(text, "tessera_gpu_allocated_bytes" + gpu0 + " 4294967296")) << text;
    EXPECT_TRUE(has_line(text, "tessera_gpu_healthy" + gpu0 + " 1"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_healthy" + gpu1 + " 0"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_overcommitted 0"));
    EXPECT_TRUE(has_line(text, "tessera_bindings_unobserved 0"));
    EXPECT_TRUE(has_line(text, R"(tessera_pending_pods{reason="not_refused"} 3)"));
    EXPECT_TRUE(has_line(text, R"(tessera_pending_pods{reason="memory"} 2)"));
    EXPECT_TRUE(has_line(text, R"(tessera_pending_pods{reason="unhealthy"} 0)"));
    EXPECT_TRUE(has_line(text, R"(tessera_pending_pod_oldest_seconds{reason="memory"} 300)"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_reserved_bytes" + gpu0 + " 0"));
    EXPECT_TRUE(has_line(text, "tessera_gpu_pods" + gpu0 + " 1"));
    EXPECT_TRUE(has_line(text, R"(tessera_nodes{state="open"} 1)"));
    EXPECT_TRUE(has_line(text, R"(tessera_gpu_unhealthy_info{gpu="1",node="n1",reason="Xid 79",)"
                               R"(uuid="GPU-n1-1"} 1)"))
        << text;
    EXPECT_TRUE(has_line(text, "process_resident_memory_bytes 1073741824"));
    EXPECT_TRUE(has_line(text, "process_cpu_seconds_total 1.5"));
    EXPECT_TRUE(has_line(text, "process_start_time_seconds 1800000000"));
    EXPECT_TRUE(has_line(
        text,
        R"(tessera_build_info{program="tessera-controller",version=")" TESSERA_VERSION R"("} 1)"));
    EXPECT_TRUE(has_line(text, "tessera_snapshot_synced 1"));
    EXPECT_TRUE(has_line(text, R"(tessera_extender_errors_total{verb="filter"} 1)"));
    EXPECT_TRUE(has_line(text, R"(tessera_extender_request_seconds_count{verb="filter"} 2)"));
    EXPECT_TRUE(
        has_line(text, R"(tessera_extender_request_seconds_bucket{verb="filter",le="0.0005"} 1)"));
    EXPECT_NE(text.find("# HELP tessera_gpu_allocated_bytes "), std::string::npos);
    EXPECT_NE(text.find("# TYPE tessera_gpu_allocated_bytes gauge"), std::string::npos);
}

// Goal: the metrics show what an engineer on call looks for first: GPUs that were allocated twice,
// Bindings that no watch has shown, and errors of the API server.
TEST_F(Metrics, Faults) {
    state_.set_node(build::node("n1", 2, gibibytes(16)));
    for (const char* name : {"a", "b"}) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(10)));
        state_.set_pod(build::bound(
            pod,
            build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(10), {}, false}})));
    }
    const PodInfo pod = build::pod("p", build::native(gibibytes(1)));
    ASSERT_TRUE(state_.reserve(build::request(pod), NodeName("n1")));
    metrics_.count_watch_error();
    const std::string text = expose();
    EXPECT_TRUE(has_line(text, "tessera_gpu_overcommitted 1")) << text;
    EXPECT_TRUE(has_line(text, "tessera_bindings_unobserved 1"));
    const std::string other = R"({gpu="1",node="n1",uuid="GPU-n1-1"})";
    EXPECT_TRUE(has_line(text, "tessera_gpu_reserved_bytes" + other + " 1073741824")) << text;
    EXPECT_TRUE(has_line(text, "tessera_gpu_allocated_bytes" + other + " 0"));
    EXPECT_TRUE(has_line(text, "tessera_watch_errors_total 1"));
    EXPECT_TRUE(has_line(text, "tessera_preempted_pods_total 0"));
}

// Goal: the metrics show a watch that has gone silent, and what was reconciled.
TEST_F(Metrics, WatchesAndReconciliations) {
    clock_.advance(std::chrono::seconds(7));
    metrics_.heard(Watched::pods);
    metrics_.count_list(Watched::pods);
    clock_.advance(std::chrono::seconds(5));
    std::string text = expose();
    EXPECT_TRUE(has_line(text, R"(tessera_watch_age_seconds{resource="nodes"} 12)")) << text;
    EXPECT_TRUE(has_line(text, R"(tessera_watch_age_seconds{resource="pods"} 5)"));
    EXPECT_TRUE(has_line(text, R"(tessera_lists_total{resource="pods"} 1)"));
    EXPECT_EQ(text.find(R"(tessera_reconciliations_total{kind="relist"})"), std::string::npos);
    metrics_.count_list(Watched::pods);
    set_log_sink([](Event, std::initializer_list<LogField>) {});
    log_event(Event::bind_reconciled);
    set_log_sink({});
    text = expose();
    EXPECT_TRUE(has_line(text, R"(tessera_reconciliations_total{kind="relist"} 1)"));
    const std::string reconciled = std::to_string(event_count(Event::bind_reconciled));
    EXPECT_TRUE(
        has_line(text, R"(tessera_reconciliations_total{kind="bind_reconciled"} )" + reconciled));
    EXPECT_TRUE(has_line(
        text, R"(tessera_events_total{event="bind_reconciled",level="info"} )" + reconciled));
}

// Goal: a GPU that is gone disappears from the metrics; counters stay.
TEST_F(Metrics, GoneGpusAreGone) {
    metrics_.observe("bind", std::chrono::milliseconds(1), true);
    state_.set_node(build::node("n1", 1, gibibytes(16)));
    EXPECT_NE(expose({}, false).find("GPU-n1-0"), std::string::npos);
    state_.remove_node(NodeName("n1"));
    const std::string text = expose({}, false);
    EXPECT_EQ(text.find("GPU-n1-0"), std::string::npos);
    EXPECT_TRUE(has_line(text, R"(tessera_extender_errors_total{verb="bind"} 1)"));
    EXPECT_TRUE(has_line(text, "tessera_snapshot_synced 0"));
}

}  // namespace
}  // namespace tessera
