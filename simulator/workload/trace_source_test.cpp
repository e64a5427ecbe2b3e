// Each format's files, small and made by hand, in its documented columns.
#include "simulator/workload/trace_source.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

const std::map<std::string, std::string> kFiles = {
    {"nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,A10\n"},
    {"bare.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,0,\n"},
    {"none.csv", "sn,cpu_milli,memory_mib,gpu,model\n"},
    {"o/openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nm0,1,1,1,T4\n"},
    {"o/openb_pod_list_a.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,500\n"},
    {"o/arrivals/a.seed1.txt", "N 0\nP 0 0\n"},
    {"more/openb_node_list_gpu_node.csv",
     "sn,cpu_milli,memory_mib,gpu,model\nm0,1,1,1,T4\nm1,1,1,1,T4\nm2,1,1,1,T4\n"},
    {"more/openb_pod_list_a.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,500\n"},
    {"more/arrivals/a.seed1.txt", "N 1\nP 0\n"},
    {"spec/openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nm0,1,1,1,T4\n"},
    {"spec/openb_pod_list_a.csv",
     "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,500,H100\n"
     "q,1,1,1,500,t4|H100|T4\nr,1,1,1,500,T4\ns,1,1,1,500,\n"},
    {"spec/arrivals/a.seed1.txt", "N 0\nP 0 0 1 2 3\n"},
    {"d/disaggregated_DLRM_trace.csv",
     "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,"
     "rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,"
     "creation_time,scheduled_time,deletion_time\n"
     "i0,HN,app_0,12,12,1,1,25,25,120.0,120.0,680.0,800.0,8,50.0,60.0,100.0\n"
     "i1,HN,app_0,8,8,1,1,25,25,64.5,64.5,680.0,800.0,8,,,\n"
     "i2,CN,app_1,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,1.0,1.0,2.0\n"},
    {"caps/disaggregated_DLRM_trace.csv",
     "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,max_instance_per_node,"
     "creation_time,scheduled_time,deletion_time\n"
     "i0,HN,any,1,1,1.0,-1,1.0,1.0,\n"
     "i1,HN,any,1,1,1.0,2,2.0,2.0,\n"
     "i2,HN,few,1,1,1.0,4,3.0,3.0,\n"
     "i3,HN,few,1,1,1.0,-1,4.0,4.0,\n"
     "i4,HN,some,1,1,1.0,4,5.0,5.0,\n"},
    {"p/pai_machine_spec.csv", "m0,T4,96,512,2\nm1,CPU,96,512,0\n"},
    {"p/pai_task_table.csv",
     "j1,worker,2.0,Terminated,200.0,260.0,600.0,29.296875,50.0,MISC\n"
     "j0,ps,1.0,Terminated,100.0,130.0,600.0,2.0,,\n"
     "j2,worker,1.0,Running,300.0,,100.0,1.0,150.0,V100\n"
     "j3,worker,1.0,Waiting,,,100.0,1.0,100.0,V100\n"},
};

Result<std::string> read_file(const std::string& path) {
    const auto found = kFiles.find(path);
    if (found == kFiles.end()) return fail(Code::not_found, path + ": there is none");
    return found->second;
}

// Goal: the error for a trace, or an order of it, that the folder does not have lists the existing
// ones.
TEST(TraceSource, TellsWhatTheFolderHas) {
    TraceSource source{.folder = "o",
                       .files = {"openb_node_list_gpu_node.csv", "openb_pod_list_b.csv",
                                 "openb_pod_list_a.csv", "arrivals/a.seed1.txt",
                                 "arrivals/a.seed3.txt", "arrivals/b.seed2.txt", "LICENSE"}};
    const auto error_of = [&](const TraceName& name) {
        const auto loaded = load_source(read_file, source, name);
        EXPECT_FALSE(loaded);
        return loaded ? "" : loaded.error().text;
    };
    EXPECT_EQ(error_of({"default", 1}),
              "o/openb_pod_list_default.csv: there is none; there is no trace \"default\" there, "
              "only a, b (--trace)");
    EXPECT_EQ(error_of({"a", 2}),
              "o/arrivals/a.seed2.txt: there is none; trace a has no order of seed 2, only of 1, 3 "
              "(--seed)");
    source.seed_option = "--order";
    EXPECT_TRUE(error_of({"a", 2}).ends_with("only of 1, 3 (--order)"));
    source.files.clear();
    EXPECT_EQ(error_of({"default", 1}), "o/openb_pod_list_default.csv: there is none");
}

Workload loaded(const TraceSource& source) {
    auto workload = load_source(read_file, source, {"a", 1});
    EXPECT_TRUE(workload) << workload.error().text;
    return *std::move(workload);
}

TEST(TraceSource, Openb) {
    EXPECT_EQ(loaded({.folder = "o"}).node_names, (std::vector<std::string>{"m0"}));
    const Workload other = loaded({.folder = "o", .nodes = "nodes.csv"});
    EXPECT_EQ(other.node_names, (std::vector<std::string>{"n0"}));
    EXPECT_EQ(other.arrivals.size(), 2U);
    EXPECT_EQ(loaded({.folder = "more", .without = {{2, "T4"}}}).nodes.size(), 1U);
    EXPECT_EQ(loaded({.folder = "o", .gangs = {100, 3}}).arrivals.size(), 6U);
}

// Goal: nodes that are in the list but not in an order of arrival count too.
TEST(TraceSource, NodesThatTheOrderLeavesOut) {
    const Workload workload = loaded({.folder = "more"});
    EXPECT_EQ(workload.node_names, (std::vector<std::string>{"m1", "m0", "m2"}));
    EXPECT_EQ(workload.node_rows, (std::vector<std::uint32_t>{1, 0, 2}));
    EXPECT_EQ(workload.nodes.size(), 3U);
}

// Goal: instances with GPUs, first those that began before the trace, each with its run time.
TEST(TraceSource, Dlrm) {
    const Workload workload = loaded({.folder = "d", .format = "dlrm2025", .nodes = "nodes.csv"});
    ASSERT_EQ(workload.arrivals.size(), 2U);
    EXPECT_EQ(workload.arrivals[0].cpu_milli, 8'000);
    EXPECT_EQ(workload.arrivals[0].memory_mib, 66'048);
    EXPECT_EQ(
        workload.arrivals[1],
        (PlacementTask{.cpu_milli = 12'000, .memory_mib = 120 * 1024, .milli = 1'000, .count = 1}));
    EXPECT_EQ(workload.pods[0].cap, (NodeCap{.app = 0, .most = 8}));
    EXPECT_EQ(workload.pods[1].cap, workload.pods[0].cap);
    EXPECT_EQ(workload.pods[0].lasts_s, 40);
    EXPECT_EQ(workload.pods[1].lasts_s, std::nullopt);
    EXPECT_EQ(workload.pods[0].came_s, 50);
    EXPECT_EQ(workload.pods[1].came_s, 0) << "before the trace";
    const auto lacks = load_source(read_file, {.folder = "d", .format = "dlrm2025"}, {"a", 1});
    ASSERT_FALSE(lacks);
    EXPECT_NE(lacks.error().text.find("--nodes"), std::string::npos);
}

// Goal: the first instance of an application sets the cap for all of them, also if it sets none;
// other applications are not affected.
TEST(TraceSource, TheFirstInstanceSaysTheCap) {
    const Workload workload =
        loaded({.folder = "caps", .format = "dlrm2025", .nodes = "nodes.csv"});
    std::vector<int> most;
    for (const auto& pod : workload.pods)
        most.push_back(pod.cap.most);
    EXPECT_EQ(most, (std::vector{0, 0, 4, 4, 4}));
    EXPECT_EQ(workload.pods[3].cap, workload.pods[2].cap);
    EXPECT_NE(workload.pods[4].cap, workload.pods[2].cap);
}

// Goal: a task's instances are single tasks or a gang, with parts and multiples of a GPU, in the
// order in which tasks started.
TEST(TraceSource, Pai) {
    const Workload apart = loaded({.folder = "p", .format = "pai2020"});
    EXPECT_EQ(apart.nodes.size(), 2U);
    EXPECT_EQ(apart.nodes[0], (NodeShape{96'000, 512 * 1024, 2, 0}));
    ASSERT_EQ(apart.arrivals.size(), 4U);
    EXPECT_EQ(apart.arrivals[0].count, 0);
    EXPECT_EQ(apart.arrivals[1],
              (PlacementTask{.cpu_milli = 6'000, .memory_mib = 30'000, .milli = 500, .count = 1}));
    EXPECT_EQ(apart.arrivals[3].count, 2);
    EXPECT_EQ(apart.arrivals[3].milli, 1'000);
    EXPECT_TRUE(apart.together.empty());
    EXPECT_EQ(apart.pods[0].lasts_s, 60);
    const Workload together = loaded({.folder = "p", .format = "pai2020", .together = true});
    EXPECT_EQ(together.together, (std::vector<std::uint32_t>{1, 2, 0, 1}));
    EXPECT_EQ(together.pods[0].gang, 2);
}

// Goal: a source without GPUs is refused in the same way for all commands.
TEST(TraceSource, NoGpu) {
    for (const TraceSource& source : {TraceSource{.folder = "o", .nodes = "bare.csv"},
                                      TraceSource{.folder = "o", .nodes = "none.csv"},
                                      TraceSource{.folder = "more", .without = {{3, "T4"}}}}) {
        const auto refused = load_source(read_file, source, {"a", 1});
        ASSERT_FALSE(refused) << source.nodes;
        EXPECT_EQ(refused.error(),
                  (Error{Code::invalid_argument, "no node has a GPU; see --nodes and --without"}));
    }
}

// Goal: models that no node has are reported, with the number of pods that name them.
TEST(TraceSource, TellsUnknownModels) {
    std::vector<std::string> lines;
    TraceSource source{.folder = "spec",
                       .tell = [&](const std::string& line) { lines.push_back(line); }};
    const Workload workload = loaded(source);
    EXPECT_EQ(lines, (std::vector<std::string>{
                         "a: models that pods name and no node has: H100 (2 pods), t4 (1 pod)"}));
    EXPECT_EQ(workload.arrivals[0].models, ModelSet{0});
    lines.clear();
    source.folder = "o";
    loaded(source);
    EXPECT_TRUE(lines.empty());
}

// Goal: a run has the name of its trace, or of its format if the format is one trace.
TEST(TraceSource, Names) {
    EXPECT_EQ(trace_names({.format = "openb"}, {"b", "a", "b"}),
              (std::vector<std::string>{"b", "a"}));
    for (const std::string format : {"dlrm2025", "pai2020"})
        EXPECT_EQ(trace_names({.format = format}, {"default"}), std::vector{format});
}

TEST(TraceSource, UnknownFormat) {
    const auto refused = load_source(read_file, {.folder = "p", .format = "x"}, {"a", 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              (Error{Code::not_found, "no trace format \"x\"; there is openb, dlrm2025, pai2020"}));
}

}  // namespace
}  // namespace tessera
