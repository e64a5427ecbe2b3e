#include "app/top/node_text.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

PodInfo placed(const std::string& name, const std::string& node, int gpu, int gib, int cores) {
    const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
    const GpuUuid uuid("GPU-" + node + "-" + std::to_string(gpu));
    return build::bound(
        pod, build::allocation(pod, node, {{uuid, gpu, gibibytes(gib), {cores}, false}}));
}

// A control plane, a node of NVIDIA's plugin, and two nodes with shares.
ClusterFacts cluster() {
    ClusterFacts out;
    const auto add_node = [&](NodeInventory node, ShownNode facts, const std::string& address) {
        node.address = address;
        out.nodes.push_back(std::move(node));
        out.shown_nodes.push_back(std::move(facts));
    };
    const auto add_pod = [&](PodInfo pod, ShownPod facts) {
        out.pods.push_back(std::move(pod));
        out.shown_pods.push_back(std::move(facts));
    };
    add_node(build::node("gpu-c", 1, gibibytes(15)), {.status = "Ready"}, "10.0.0.23");
    add_node(build::node("gpu-b", 2, gibibytes(15)), {.status = "Ready"}, "10.0.0.22");
    add_node(build::node("gpu-a", 0, {}),
             {.status = "NotReady", .plugin_gpus = 8, .healthy_plugin_gpus = 8}, "10.0.0.21");
    add_node(build::node("cp-1", 0, {}), {.role = "control-plane", .status = "Ready"}, "10.0.0.10");
    add_pod(placed("serve", "gpu-b", 0, 3, 0), {.status = "Running"});
    add_pod(placed("train", "gpu-b", 1, 8, 25), {.status = "Pending"});
    PodInfo whole = build::pod("whole", {});
    whole.node = NodeName("gpu-a");
    add_pod(whole, {.status = "Running", .plugin_gpus = 3});
    PodInfo ended = build::pod("ended", {});
    ended.node = NodeName("gpu-a");
    ended.finished = true;
    add_pod(ended, {.status = "Completed", .plugin_gpus = 1});
    return out;
}

std::vector<NodeRow> rows(std::optional<NodeMode> mode = {},
                          const std::vector<std::string>& names = {}) {
    return chosen_rows(node_rows(cluster()), names, mode).value();
}

// Goal: Arena's common table (docs/research/arena.md §4.1), ordered by mode and then by name.
TEST(TopNode, Mixed) {
    EXPECT_EQ(node_table(rows(), {}),
              R"(NAME   IPADDRESS  ROLE           STATUS    GPU(Total)  GPU(Allocated)  GPU(Mode)
cp-1   10.0.0.10  control-plane  Ready     0           0               none
gpu-a  10.0.0.21  <none>         NotReady  8           3               exclusive
gpu-b  10.0.0.22  <none>         Ready     2           0.7             share
gpu-c  10.0.0.23  <none>         Ready     1           0               share
--------------------------------------------------------------------------------
Allocated/Total GPUs In Cluster:
3.7/11 (33.9%)
)");
}

// Goal: the table of nodes with shares has memory and compute, and with -o wide each GPU.
TEST(TopNode, Shares) {
    const std::string table = node_table(rows(NodeMode::share), {});
    EXPECT_EQ(
        table,
        R"(NAME   IPADDRESS  ROLE    STATUS  GPUs(Allocated/Total)  GPU_MEMORY(Allocated/Total)  GPU_CORE(Allocated/Total)
gpu-b  10.0.0.22  <none>  Ready   0.7/2                  11.0/30.0 GiB                25/200
gpu-c  10.0.0.23  <none>  Ready   0/1                    0.0/15.0 GiB                 0/100
---------------------------------------------------------------------------------------------------------------
Allocated/Total GPUs of nodes with GPU shares In Cluster:
0.7/3 (24.4%)
Allocated/Total GPU Memory of nodes with GPU shares In Cluster:
11.0/45.0 GiB (24.4%)
Allocated/Total GPU Core of nodes with GPU shares In Cluster:
25/300 (8.3%)
)");
    const std::string wide = node_table(rows(NodeMode::share), {.per_gpu = true});
    EXPECT_NE(wide.find("  GPU0(Allocated/Total)  GPU1(Allocated/Total)\n"), std::string::npos);
    EXPECT_NE(wide.find("  3.0/15.0 GiB           8.0/15.0 GiB\n"), std::string::npos);
    EXPECT_NE(wide.find("  0.0/15.0 GiB           -\n"), std::string::npos);
}

// Goal: nodes that were named have no sums of a cluster; one that does not exist is named.
TEST(TopNode, Named) {
    EXPECT_EQ(node_table(rows({}, {"gpu-a"}), {.names_given = true}),
              "NAME   IPADDRESS  ROLE    STATUS    GPU(Total)  GPU(Allocated)\n"
              "gpu-a  10.0.0.21  <none>  NotReady  8           3\n");
    EXPECT_EQ(chosen_rows(node_rows(cluster()), std::vector<std::string>{"gpu-x"}, {}).error().text,
              "nodes \"gpu-x\" not found");
}

// Goal: an unhealthy GPU has a column, a line of the sums, and its state in the details.
TEST(TopNode, Unhealthy) {
    ClusterFacts one = cluster();
    one.nodes[0].gpus[0].condition = GpuCondition::unhealthy;
    one.shown_nodes[2].healthy_plugin_gpus = 7;
    const auto all = node_rows(one);
    const std::string table = node_table(all, {});
    EXPECT_NE(table.find("  GPU(Mode)  UNHEALTHY\n"), std::string::npos);
    EXPECT_NE(table.find("  share      1\n"), std::string::npos);
    EXPECT_NE(table.find("Unhealthy/Total GPUs In Cluster:\n2/11 (18.2%)\n"), std::string::npos);
    EXPECT_NE(node_details(all, {}).find("HEALTH\n"), std::string::npos);
}

// Goal: the details name pods and GPUs, and what is used where the agents tell.
TEST(TopNode, Details) {
    ShareLine line;
    line.node = NodeName("gpu-b");
    line.use.gpu = GpuUuid("GPU-gpu-b-0");
    line.use.used = gibibytes(2);
    line.time = 12;
    const std::vector uses{line};
    EXPECT_EQ(
        node_details(rows({}, {"gpu-b"}), {.names_given = true, .has_uses = true, .uses = uses}),
        R"(
Name:     gpu-b
Status:   Ready
Role:     <none>
Type:     GPUShare
Address:  10.0.0.22
Description:
  1.Pods share the GPUs of this node
  2.Pods request tessera.dev/gpu-memory and tessera.dev/gpu-cores, or whole GPUs by tessera.dev/gpu
Instances:
  NAMESPACE  NAME   STATUS   GPU_MEM(Requested)  GPU_MEM(Allocated)  GPU_CORE(Requested)  GPU_CORE(Allocated)
  ---------  ----   ------   ------------------  ------------------  -------------------  -------------------
  default    serve  Running  3.0 GiB             gpu0(3.0GiB)        N/A                  N/A
  default    train  Pending  8.0 GiB             gpu1(8.0GiB)        25                   gpu1(25)
GPUs:
  INDEX  MEMORY(Total)  MEMORY(Allocated)  CORE(Total)  CORE(Allocated)  MEMORY(Used)  DUTY_CYCLE
  -----  -------------  -----------------  -----------  ---------------  ------------  ----------
  0      15.0 GiB       3.0 GiB(20.0%)     100          0(0.0%)          2.0 GiB       12%
  1      15.0 GiB       8.0 GiB(53.3%)     100          25(25.0%)        N/A           N/A
GPU Summary:
  Total GPUs: 2
  Allocated GPUs: 0.7
  Unhealthy GPUs: 0
  Total GPU Memory: 30.0 GiB
  Allocated GPU Memory: 11.0 GiB
  Total GPU Core: 200
  Allocated GPU Core: 25
  Used GPU Memory: 2.0 GiB
)");
    const std::string exclusive = node_details(rows(NodeMode::exclusive), {});
    EXPECT_NE(exclusive.find("  default    whole  Running  3\n"), std::string::npos);
    EXPECT_EQ(exclusive.find("ended"), std::string::npos);
}

// Goal: JSON has Arena's members, amounts in bytes, and an array for each mode.
TEST(TopNode, Json) {
    const std::string json = node_json(rows(), {});
    EXPECT_TRUE(json.starts_with(R"({"gpuShareNodes":[{"name":"gpu-b","ip":"10.0.0.22",)"
                                 R"("status":"Ready","role":"","type":"GPUShare","totalGPUs":2,)"
                                 R"("allocatedGPUs":0.7,"unhealthyGPUs":0,)"
                                 R"("totalGPUMemory":32212254720,)"))
        << json;
    EXPECT_NE(json.find(R"("requestGPUMemory":8589934592,"requestGPUCore":25,)"
                        R"("gpuMemoryAllocation":{"1":8589934592},"gpuCoreAllocation":{"1":25}}])"),
              std::string::npos)
        << json;
    EXPECT_NE(json.find(R"("gpuExclusiveNodes":[{"name":"gpu-a")"), std::string::npos);
    EXPECT_NE(json.find(R"("normalNodes":[{"name":"cp-1")"), std::string::npos);
    EXPECT_TRUE(json.ends_with(R"("gpuTopologyNodes":[]})"));
}

// Goal: a pod with all memory of a GPU has all its compute; pods of another plugin on the node, and
// a report that cannot be read, are reported.
TEST(TopNode, WholeGpusAndWarnings) {
    ClusterFacts one = cluster();
    one.pods.push_back(placed("all", "gpu-c", 0, 15, 0));
    one.shown_pods.push_back({.status = "Running"});
    one.pods[2].node = NodeName("gpu-c");
    one.nodes[3].fault = "not JSON";
    const auto all = node_rows(one);
    const auto row = std::ranges::find(all, "gpu-c", &NodeRow::name);
    EXPECT_EQ(row->all_allocated_cores(), 100);
    EXPECT_EQ(row->allocated(), 1);
    EXPECT_EQ(node_warnings(all),
              (std::vector<std::string>{
                  "the GPUs of node cp-1 are unknown: not JSON",
                  "pods on node gpu-c also request 3 nvidia.com/gpu, which are not counted: two "
                  "systems assign the GPUs of this node (tessera doctor)"}));
}

TEST(TopNode, ModeNames) {
    EXPECT_EQ(parse_node_mode("s").value(), NodeMode::share);
    EXPECT_EQ(parse_node_mode("exclusive").value(), NodeMode::exclusive);
    EXPECT_EQ(parse_node_mode("none").value(), NodeMode::none);
    for (const char* text : {"", "sh", "topology", "t"}) {
        EXPECT_EQ(parse_node_mode(text).error().text,
                  "--gpu-mode: \"" + std::string(text) +
                      "\" is no mode; there are none, exclusive and share");
    }
}

// Goal: an empty cluster is a header, not a crash.
TEST(TopNode, NoNodes) {
    EXPECT_EQ(node_table({}, {}), "NAME  IPADDRESS  ROLE  STATUS  GPU(Total)  GPU(Allocated)\n");
    EXPECT_EQ(node_details({}, {}), "");
}

}  // namespace
}  // namespace tessera
