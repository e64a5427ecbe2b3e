#include "simulator/traces/pai_csv.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: tables with and without a line of column names are read.
TEST(PaiCsv, ReadsMachines) {
    const std::string rows = "a,T4,96,512,2\nb,CPU,64,256,0\n";
    for (const std::string& text : {rows, "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n" + rows}) {
        const auto nodes = read_pai_machines(text);
        ASSERT_TRUE(nodes) << nodes.error().text;
        EXPECT_EQ(*nodes, (std::vector<OpenbNode>{{"a", 96'000, 524'288, 2, "T4"},
                                                  {"b", 64'000, 262'144, 0, ""}}));
    }
    const auto wrong = read_pai_machines("a,T4,96,512,2\nb,,64,256,1\n");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().text, "line 2, column gpu_type: empty, but the machine has GPUs");
}

TEST(PaiCsv, ReadsTasks) {
    const auto tasks = read_pai_tasks(
        "j,worker,3.0,Terminated,100.0,160.0,600.0,29.296875,25.0,MISC\n"
        "j,big,1.0,Running,100.0,,50.0,1.0,400.0,V100\n"
        "j,never,1.0,Waiting,,,50.0,1.0,400.0,V100\n"
        "j,none,0.0,Failed,1.0,2.0,50.0,1.0,400.0,V100\n");
    ASSERT_TRUE(tasks) << tasks.error().text;
    EXPECT_EQ(
        *tasks,
        (std::vector<TraceTask>{
            {.pod = {"j/worker", 6'000, 30'000, 1, 250, "", 60}, .came_s = 100, .instances = 3},
            {.pod = {"j/big", 500, 1'024, 4, 1'000, ""}, .came_s = 100}}));
}

// Goal: an error names the place and the fault.
TEST(PaiCsv, NamesLineAndColumn) {
    struct Case {
        const char* text;
        const char* error;
    };
    for (const Case& c :
         {Case{"j,w,1.0\n", "line 1: 3 fields where the first line names 10 columns"},
          {"j,w,x,S,1,2,1,1,1,T\n",
           "line 1, column inst_num: \"x\" is not a whole number from 0 to 100000"},
          {"j,w,2.5,S,1,2,1,1,1,T\n",
           "line 1, column inst_num: \"2.5\" is not a whole number from 0 to 100000"},
          {"j,w,1,S,5,2,1,1,1,T\n", "line 1, column end_time: before it started"},
          {"j,w,1,S,1,2,1,1,1601,T\n",
           "line 1, column plan_gpu: \"1601\" is not a decimal number from 0 to 1600"}}) {
        const auto tasks = read_pai_tasks(c.text);
        ASSERT_FALSE(tasks) << c.text;
        EXPECT_EQ(tasks.error(), (Error{Code::invalid_argument, c.error})) << tasks.error().text;
    }
}

// Goal: a short table with many instances cannot exhaust memory: the error names the line that
// exceeds the limit. Method: exactly the limit is accepted, and one instance more is refused.
TEST(PaiCsv, BoundsAllInstances) {
    std::string text;
    for (int row = 0; row < 100; ++row)
        text += "j,w,100000,S,1,2,1,1,1,T\n";
    EXPECT_TRUE(read_pai_tasks(text));
    const auto tasks = read_pai_tasks(text + "j,w,1,S,1,2,1,1,1,T\n");
    ASSERT_FALSE(tasks);
    EXPECT_EQ(tasks.error().code, Code::invalid_argument);
    EXPECT_TRUE(tasks.error().text.starts_with(
        "line 101, column inst_num: with this line there are more than 10000000 instances"))
        << tasks.error().text;
}

}  // namespace
}  // namespace tessera
