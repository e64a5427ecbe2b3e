#include "simulator/traces/dlrm_csv.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const std::string kHead =
    "instance_sn,role,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,"
    "deletion_time,app_name,max_instance_per_node\n";

TEST(DlrmCsv, ReadsInstances) {
    const auto tasks = read_dlrm_instances(kHead +
                                           "a,HN,12,1,120.0,,,,x,2\n"
                                           "b,CN,64,0,320.0,1.0,1.0,2.0,y,-1\n"
                                           "c,HN,1.5,0,0.5,10.0,NaN,12.5,z,-1\n");
    ASSERT_TRUE(tasks) << tasks.error().text;
    EXPECT_EQ(*tasks, (std::vector<TraceTask>{
                          {.pod = {"a", 12'000, 122'880, 1, 1'000, ""},
                           .came_s = -1,
                           .app = "x",
                           .most_on_node = 2},
                          {.pod = {"c", 1'500, 512, 0, 0, "", 3}, .came_s = 10, .app = "z"}}));
}

// Goal: an error names the place and the fault.
TEST(DlrmCsv, NamesLineAndColumn) {
    struct Case {
        std::string text;
        const char* error;
    };
    for (const Case& c :
         {Case{"role\n", "line 1: no column instance_sn; there is role"},
          {kHead + "a,XN,1,1,1,,,,x,1\n", "line 2, column role: is neither CN nor HN"},
          {kHead + "a,HN,x,1,1,,,,x,1\n",
           "line 2, column cpu_request: \"x\" is not a decimal number from 0 to 1000000"},
          {kHead + "a,HN,18888888888888888.5,1,1,,,,x,1\n",
           "line 2, column cpu_request: \"18888888888888888.5\" is not a decimal number from 0 to "
           "1000000"},
          {kHead + "a,HN,1,17,1,,,,x,1\n",
           "line 2, column gpu_request: \"17\" is not a decimal number from 0 to 16"},
          {kHead + "a,HN,1,1,1.,,,,x,1\n",
           "line 2, column memory_request: \"1.\" is not a decimal number from 0 to 976562"},
          {kHead + "a,HN,1,1,.5,,,,x,1\n",
           "line 2, column memory_request: \".5\" is not a decimal number from 0 to 976562"},
          {kHead + "a,HN,1,1,1.2.3,,,,x,1\n",
           "line 2, column memory_request: \"1.2.3\" is not a decimal number from 0 to 976562"},
          {kHead + "a,HN,1,1,1,,,,x,0\n",
           "line 2, column max_instance_per_node: is neither -1 nor a number from 1"},
          {kHead + "a,HN,1,1,1,,,,x,many\n",
           "line 2, column max_instance_per_node: \"many\" is not a decimal number from 0 to "
           "1000000000"},
          {kHead + "a,HN,1,1,1,10,20,15,x,1\n",
           "line 2, column deletion_time: before its creation or scheduling"}}) {
        const auto tasks = read_dlrm_instances(c.text);
        ASSERT_FALSE(tasks) << c.text;
        EXPECT_EQ(tasks.error(), (Error{Code::invalid_argument, c.error})) << tasks.error().text;
    }
}

}  // namespace
}  // namespace tessera
