// The simulator's commands as processes: behaviour that only the whole program shows.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "programs/common/started_program_test.hpp"
#include "simulator/program/simulator_output_test.hpp"

namespace tessera {
namespace {

// Goal: the simulator finds bounds, the same with any number of jobs, and reports errors.
TEST(Simulator, FindsBounds) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    std::set<std::string> outputs;
    for (const char* jobs : {"-j1", "-j3"}) {
        Program good("tessera-sim",
                     {"bound", data, "--trace=multigpu40,gpuspec25", "--policy=best-fit",
                      "--arrivals=60,100", jobs},
                     folder.file(jobs));
        ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
        outputs.insert(good.output());
    }
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_NE(
        outputs.begin()->find("\nmultigpu40    42   99.99   98.11           -  best-fit   95.0"),
        std::string::npos)
        << *outputs.begin();
    for (const auto& [arguments, status, text] :
         std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
             {{"bound", data},
              3,
              "/openb_pod_list_default.csv: No such file or directory; there is"},
             {{"bound", data, "--trace=multigpu40", "--policy=x"},
              3,
              "tessera-sim: no placement policy \"x\"; there is binpack,"},
             {{"bound", data, "--arrivals=131"},
              2,
              "--arrivals: \"131\" is not a whole number from 1 to 130"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: each command's help has every exit status of that command.
TEST(Simulator, TellsItsExitStatuses) {
    for (const char* command : {"replay", "bound", "churn"}) {
        const std::string help = output_of("tessera-sim", {command, "--help"});
        for (const char* status :
             {"2 wrong usage", "3 no such", "6 a file", "8 unsupported", "70 the"})
            EXPECT_NE(help.find(status), std::string::npos) << command << ": " << help;
    }
}

// Goal: gangs, and runs without some nodes, work in every command, the same with any number of
// jobs.
TEST(Simulator, GangsAndFewerNodes) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    const std::string trace = "--trace=gpuspec25";
    const std::string churned = same_with_any_jobs(
        folder, {"churn", data, trace, "--load=90", "--policy=fgd,binpack", "--seeds=2",
                 "--longest=3600", "--days=0.05", "--gangs=20%x4", "--without=20 T4"});
    EXPECT_NE(churned.find("fgd gangs"), std::string::npos) << churned;
    const std::string moved = same_with_any_jobs(
        folder, {"churn", data, trace, "--load=100", "--policy=fgd", "--seeds=2", "--longest=1800",
                 "--days=0.02", "--defrag-after=600", "--checkpoint=600"});
    EXPECT_NE(moved.find("moves that made room for waiting tasks"), std::string::npos) << moved;
    const std::string replayed = same_with_any_jobs(
        folder, {"replay", data, trace, "--policy=fgd,binpack", "--gangs=20%x4", "--output=csv"});
    EXPECT_NE(replayed.find("gpuspec25,binpack,42,100,"), std::string::npos);
    const std::string all = same_with_any_jobs(folder, {"bound", data, trace, "--output=csv"});
    EXPECT_NE(all, same_with_any_jobs(folder,
                                      {"bound", data, trace, "--output=csv", "--without=200 T4"}));
    for (const auto& [arguments, status, text] :
         std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
             {{"bound", data, trace, "--without=2 X"}, 3, "no node with \"X\""},
             {{"churn", data, trace, "--gangs=8"}, 2, "--gangs: \"8\" is not a share"},
             {{"replay"}, 2, "--data: is missing"},
             {{"replay", data, "--format=x"}, 3, "--format: no trace format \"x\"; there is"},
             {{"replay", data, "--format=dlrm2025"}, 2, "name a list with --nodes"},
             {{"bound", data, "--format=pai2020", trace}, 2, "--trace: pai2020 is one trace"},
             {{"churn", data, "--together"}, 2, "--together: openb has no tasks of several"},
             {{"replay", "--snapshot=x", "--seed=1,2"},
              2,
              "--seed: the pods of a snapshot have one order"},
             {{"play"}, 2, "no command \"play\"; there is replay, bound and churn"},
             {{"replay", data, "--snapshot=x"}, 2, "excludes"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

}  // namespace
}  // namespace tessera
