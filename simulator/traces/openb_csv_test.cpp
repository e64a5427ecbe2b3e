#include "simulator/traces/openb_csv.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: both published kinds of pod lists, and node lists, are read.
TEST(OpenbCsv, ReadsTheLists) {
    const auto nodes = read_openb_nodes(
        "sn,cpu_milli,memory_mib,gpu,model\n"
        "openb-node-0000,64000,262144,2,P100\n"
        "openb-node-1213,96000,524288,0,\r\n");
    ASSERT_TRUE(nodes) << nodes.error().text;
    EXPECT_EQ(*nodes, (std::vector<OpenbNode>{{"openb-node-0000", 64'000, 262'144, 2, "P100"},
                                              {"openb-node-1213", 96'000, 524'288, 0, ""}}));
    const auto pods = read_openb_pods(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
        "openb-pod-0001,6000,12288,1,460,V100M16|V100M32,LS,Running,427061,12902960,\n");
    ASSERT_TRUE(pods) << pods.error().text;
    EXPECT_EQ(
        *pods,
        (std::vector<OpenbPod>{
            {"openb-pod-0000", 12'000, 16'384, 1, 1'000, "", 12'537'496, 0},
            {"openb-pod-0001", 6'000, 12'288, 1, 460, "V100M16|V100M32", 12'475'899, 427'061}}));
    const auto short_pods = read_openb_pods(
        "\xEF\xBB\xBF"  // a byte order mark, as spreadsheets write it
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        "p,4000,8192,0,0");
    ASSERT_TRUE(short_pods) << short_pods.error().text;
    EXPECT_EQ(*short_pods, (std::vector<OpenbPod>{{"p", 4'000, 8'192, 0, 0, ""}}));
}

TEST(OpenbCsv, Gangs) {
    const auto pods = read_openb_pods(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gang\na,1,1,0,0,g\nb,1,1,0,0,\n");
    ASSERT_TRUE(pods) << pods.error().text;
    EXPECT_EQ((*pods)[0].gang, "g");
    EXPECT_EQ((*pods)[1].gang, "");
}

// Goal: the run time counts from the start, or from the creation for a pod that never started.
TEST(OpenbCsv, Times) {
    const std::string head =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n";
    const auto pods =
        read_openb_pods(head + "a,1,1,0,0,10,50,20\nb,1,1,0,0,10,,\nc,1,1,0,0,10,10,\n");
    ASSERT_TRUE(pods) << pods.error().text;
    EXPECT_EQ((*pods)[0].lasts_s, 30);
    EXPECT_EQ((*pods)[1].lasts_s, std::nullopt);
    EXPECT_EQ((*pods)[1].came_s, 10);
    EXPECT_EQ((*pods)[2].lasts_s, 0);
    const auto wrong = read_openb_pods(head + "a,1,1,0,0,10,15,20\n");
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().text.find("line 2"), std::string::npos) << wrong.error().text;
    const auto lacks =
        read_openb_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli,deletion_time\n");
    EXPECT_FALSE(lacks);
}

// Goal: an error names the place and the fault.
TEST(OpenbCsv, NamesLineAndColumn) {
    struct Case {
        const char* text;
        const char* error;
    };
    const std::string head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
    for (const Case& c :
         {Case{"", "the first line, with the columns' names, is missing"},
          {"name,cpu_milli\n", "line 1: no column memory_mib; there is name, cpu_milli"},
          {"name,cpu_milli,num_gpu,cpu_milli\n",
           "line 1: there are two columns cpu_milli; leave one out"},
          {"{}p,1,2,0\n", "line 2: 4 fields where the first line names 5 columns"},
          {"{}p,1,2,0,0\n\np,x,2,0,0\n",
           "line 4, column cpu_milli: \"x\" is not a whole number from 0 to 1000000000"},
          {"{}p,1,2,17,500\n", "line 2, column num_gpu: \"17\" is not a whole number from 0 to 16"},
          {"{}p,1,2,1,1001\n",
           "line 2, column gpu_milli: \"1001\" is not a whole number from 0 to 1000"},
          {"{}p,-0,2,1,10\n",
           "line 2, column cpu_milli: \"-0\" is not a whole number from 0 to 1000000000"},
          {"{}p,,2,1,10\n",
           "line 2, column cpu_milli: \"\" is not a whole number from 0 to 1000000000"},
          {"{}p,1,2,1,0\n",
           "line 2, column gpu_milli: 0 for a pod with GPUs, or more for a pod without; fix it or "
           "num_gpu"},
          {"{}\"p\",1,2,1,1\n", "line 2: the line has a quote; write the table without quotes"}}) {
        std::string text = c.text;
        if (text.starts_with("{}")) text.replace(0, 2, head);
        const auto pods = read_openb_pods(text);
        ASSERT_FALSE(pods) << text;
        EXPECT_EQ(pods.error(), (Error{Code::invalid_argument, c.error}));
    }
    for (const Case& c : {Case{"n,1,1,1,\n", "line 2, column model: empty, but the node has GPUs"},
                          {"n,1,1,0,\nm,1,1,0,\nn,1,1,1,T4\n",
                           "line 4, column sn: \"n\" appears twice, first on line 2"}}) {
        const auto nodes =
            read_openb_nodes(std::string("sn,cpu_milli,memory_mib,gpu,model\n") + c.text);
        ASSERT_FALSE(nodes) << c.text;
        EXPECT_EQ(nodes.error(), (Error{Code::invalid_argument, c.error}));
    }
}

// Goal: an order of arrival names only rows that exist.
TEST(OpenbCsv, ReadsArrivals) {
    const auto arrivals = read_arrivals("# any remark\nN 2 0 1\nP 1 1 0\n", 3, 2);
    ASSERT_TRUE(arrivals) << arrivals.error().text;
    EXPECT_EQ(*arrivals, (ArrivalOrder{{2, 0, 1}, {1, 1, 0}}));
    for (const char* whole :
         {"# trace=x arrivals=3\nN 2 0 1\nP 1 1 0\n",
          "\xEF\xBB\xBF# trace=x arrivals=3 y=1\r\nN 2 0 1\nP 1 1 0",
          "# arrivals=many, as ever\nN 2 0 1\nP 1 1 0\n", "N 2 0 1\nP 1 1 0\n# arrivals=7\n"}) {
        const auto stated = read_arrivals(whole, 3, 2);
        ASSERT_TRUE(stated) << stated.error().text;
        EXPECT_EQ(*stated, *arrivals) << whole;
    }
    struct Case {
        const char* text;
        const char* error;
    };
    for (const Case& c : {Case{"N 0\n", "missing line of pod rows"},
                          {"P 0\n", "missing line of node rows"},
                          {"N 0 3\nP 0\n", "line 1, word 3: \"3\" is not a row of the 3 nodes"},
                          {"N 0\nP 0 x\n", "line 2, word 3: \"x\" is not a row of the 2 pods"},
                          {"N 0\nP 0  1\n", "line 2, word 3: \"\" is not a row of the 2 pods"},
                          {"N 0 1 0\nP 0\n", "node row 0 appears twice"},
                          {"N 0\nN 1\nP 0\n", "line 2: a second line of node rows"},
                          {"N 0\nQ 0\n", "line 2: does not begin with N, P or #"},
                          {"# trace=x arrivals=3\nN 0\nP 0 1\n",
                           "line 1 states 3 arrivals, and there are 2: get the whole file, or "
                           "fix that line"}}) {
        const auto found = read_arrivals(c.text, 3, 2);
        ASSERT_FALSE(found) << c.text;
        EXPECT_EQ(found.error(), (Error{Code::invalid_argument, c.error}));
    }
}

}  // namespace
}  // namespace tessera
