#include "wire/workload/cluster_facts_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct NodeCase {
    const char* json;
    ShownNode facts;
};

TEST(ClusterFacts, Nodes) {
    const NodeCase cases[] = {
        {R"({"metadata":{"labels":{"node-role.kubernetes.io/worker":"",)"
         R"("node-role.kubernetes.io/control-plane":"","x":"y"}},)"
         R"("status":{"conditions":[{"type":"DiskPressure","status":"False"},)"
         R"({"type":"Ready","status":"True"}],"capacity":{"nvidia.com/gpu":"8"},)"
         R"("allocatable":{"nvidia.com/gpu":"7"}}})",
         {.role = "control-plane,worker",
          .status = "Ready",
          .plugin_gpus = 8,
          .healthy_plugin_gpus = 7}},
        {R"({"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready",)"
         R"("status":"Unknown"}]}})",
         {.status = "NotReady,SchedulingDisabled"}},
        {R"({})", {.status = "Unknown"}},
        {R"({"metadata":{"labels":[1]},"status":{"conditions":{},)"
         R"("allocatable":{"nvidia.com/gpu":"many"}}})",
         {.status = "Unknown"}},
        {R"({"status":{"capacity":{"nvidia.com/gpu":"9223372036854775807"}}})",
         {.status = "Unknown", .plugin_gpus = 1024}},
        {R"([])", {.status = "Unknown"}},
    };
    for (const NodeCase& one : cases)
        EXPECT_EQ(read_shown_node(JsonDocument::parse(one.json)->root()), one.facts) << one.json;
}

struct PodCase {
    const char* json;
    ShownPod facts;
};

TEST(ClusterFacts, Pods) {
    const PodCase cases[] = {
        {R"({"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"2"}}},)"
         R"({"resources":{"limits":{"nvidia.com/gpu":1,"cpu":"1"}}},)"
         R"({"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Running"}})",
         {.status = "Running", .plugin_gpus = 3}},
        {R"({"spec":{"containers":[{}],"initContainers":[{"resources":{"limits":)"
         R"({"nvidia.com/gpu":"4"}}}]},"status":{"phase":"Pending"}})",
         {.status = "Pending", .plugin_gpus = 4}},
        {R"({"metadata":{"deletionTimestamp":"2026-07-01T09:30:00Z"}})", {.status = "Terminating"}},
        {R"(7)", {.status = "Unknown"}},
    };
    for (const PodCase& one : cases)
        EXPECT_EQ(read_shown_pod(JsonDocument::parse(one.json)->root()), one.facts) << one.json;
}

}  // namespace
}  // namespace tessera
