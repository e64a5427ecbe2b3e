#include "app/agent/observe/metrics.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// Goal: the memory in use on each GPU, as the driver reports it. A GPU that does not answer shows
// no value rather than an old one.
TEST(AgentMetrics, Exposition) {
    NodeInventory node = build::node("n1", 2, gibibytes(16));
    node.gpus[1].condition = GpuCondition::unhealthy;
    GpuReadings readings{.age = std::chrono::seconds(3)};
    for (const Gpu& gpu : node.gpus) {
        readings.gpus.push_back(
            {.uuid = gpu.uuid, .index = gpu.index, .memory = gpu.memory, .used = gibibytes(2)});
    }
    readings.gpus[1].lost = "GPU is lost";
    const std::string text = agent_exposition(
        node, readings,
        {{{.pod = PodUid("uid-p"),
           .container = "main",
           .gpu = node.gpus[0].uuid,
           .used = gibibytes(1),
           .limit = gibibytes(4),
           .refusals = 3,
           .in_flight = {.kernels_ns = 1'500'000'000},
           .had = {.copies_ns = 500'000'000}}},
         {{.pod = PodUid("uid-e"),
           .gpu = node.gpus[0].uuid,
           .used = gibibytes(5),
           .accounted = gibibytes(1)}},
         {{.gpu = node.gpus[1].uuid, .used = gibibytes(7), .claimed = gibibytes(5)}}},
        {.node = node.name,
         .is_offered = true,
         .is_supervised = true,
         .gpus = {{.state = {.gpu = node.gpus[0].uuid,
                             .phase = MpsPhase::ready,
                             .servers = {{.pid = 7, .clients = {{.pid = 8}, {.pid = 9}}}},
                             .servers_lost = 2,
                             .failures = 1},
                   .grants = {},
                   .is_current = true},
                  {.state = {.gpu = node.gpus[1].uuid}, .grants = {}}}},
        SpoolUse{.batches = 2, .bytes = 700, .lost = 1}, {.program = "tessera-agent"});
    const std::string gpu0 = R"({gpu="0",node="n1",uuid="GPU-n1-0"})";
    const std::string gpu1 = R"({gpu="1",node="n1",uuid="GPU-n1-1"})";
    EXPECT_TRUE(has_line(text, "tessera_agent_gpu_used_bytes" + gpu0 + " 2147483648")) << text;
    EXPECT_EQ(text.find("tessera_agent_gpu_used_bytes" + gpu1), std::string::npos);
    EXPECT_TRUE(has_line(text, "tessera_agent_gpu_memory_bytes" + gpu1 + " 17179869184"));
    EXPECT_TRUE(has_line(text, "tessera_agent_gpu_healthy" + gpu0 + " 1"));
    EXPECT_TRUE(has_line(text, "tessera_agent_gpu_healthy" + gpu1 + " 0"));
    const std::string share = R"({container="main",pod_uid="uid-p",uuid="GPU-n1-0"})";
    EXPECT_TRUE(has_line(text, "tessera_agent_share_used_bytes" + share + " 1073741824"));
    EXPECT_TRUE(has_line(text, "tessera_agent_share_limit_bytes" + share + " 4294967296"));
    EXPECT_TRUE(has_line(text, "tessera_agent_share_refusals_total" + share + " 3"));
    EXPECT_NE(text.find(R"(kind="kernels",pod_uid="uid-p",uuid="GPU-n1-0"} 1.5)"),
              std::string::npos);
    EXPECT_TRUE(has_line(text,
                         R"(tessera_agent_share_time_seconds_total{container="main",kind="copies",)"
                         R"(pod_uid="uid-p",uuid="GPU-n1-0"} 0.5)"));
    EXPECT_TRUE(has_line(
        text, R"(tessera_agent_unaccounted_bytes{pod_uid="uid-e",uuid="GPU-n1-0"} 4294967296)"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_unclaimed_bytes{uuid="GPU-n1-1"} 2147483648)"));
    EXPECT_TRUE(has_line(text, "tessera_agent_mps_supervised 1"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_ready{uuid="GPU-n1-0"} 1)"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_ready{uuid="GPU-n1-1"} 0)"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_clients{uuid="GPU-n1-0"} 2)"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_servers_lost_total{uuid="GPU-n1-0"} 2)"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_daemon_failures_total{uuid="GPU-n1-0"} 1)"));
    EXPECT_TRUE(has_line(text, "tessera_agent_driver_age_seconds 3"));
    EXPECT_TRUE(has_line(text, "tessera_agent_usage_waiting_bytes 700"));
    EXPECT_TRUE(has_line(text, "tessera_agent_usage_lost_total 1"));
    EXPECT_NE(text.find(R"(tessera_agent_containers_total{result="refused"} )"), std::string::npos);
    EXPECT_NE(text.find(R"(tessera_build_info{program="tessera-agent",)"), std::string::npos);
}

// Goal: no value says that MPS is missing where it is not offered, and none that a GPU is served
// when no tessera-mps runs.
TEST(AgentMetrics, WithoutMps) {
    const NodeInventory node = build::node("n1", 1, gibibytes(16));
    const auto with = [&](const MpsReport& mps) {
        return agent_exposition(node, {}, {}, mps, {}, {.program = "tessera-agent"});
    };
    EXPECT_EQ(with({.node = node.name}).find("tessera_agent_mps_"), std::string::npos);
    const std::string text = with(
        {.node = node.name,
         .is_offered = true,
         .gpus = {{.state = {.gpu = node.gpus[0].uuid, .phase = MpsPhase::ready}, .grants = {}}}});
    EXPECT_TRUE(has_line(text, "tessera_agent_mps_supervised 0"));
    EXPECT_TRUE(has_line(text, R"(tessera_agent_mps_ready{uuid="GPU-n1-0"} 0)"));
}

}  // namespace
}  // namespace tessera
