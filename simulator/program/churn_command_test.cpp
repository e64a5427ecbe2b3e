// `tessera-sim churn` as a process: behaviour that only the whole program shows.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "programs/common/started_program_test.hpp"
#include "simulator/program/simulator_output_test.hpp"

namespace tessera {
namespace {

// Goal: tasks arrive and end, with the same results for any number of jobs. A value given twice
// counts once, so that it does not narrow the intervals. A trace without times is refused with that
// reason.
TEST(Simulator, LetsTasksComeAndGo) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    std::set<std::string> outputs;
    for (const auto& [jobs, load, policies] :
         {std::tuple("-j1", "--load=90", "--policy=fgd,binpack"),
          std::tuple("-j3", "--load=90,90", "--policy=fgd,FGD,binpack")}) {
        Program good("tessera-sim",
                     {"churn", data, "--trace=gpuspec25", load, policies, "--seeds=2",
                      "--longest=3600", "--days=0.05", jobs},
                     folder.file(jobs));
        ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
        outputs.insert(without_speed(good.output()));
    }
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_NE(outputs.begin()->find("difference to fgd, seed by seed"), std::string::npos)
        << *outputs.begin();
    for (const auto& [option, status, text] :
         {std::tuple("--order=42", 2, "has no times"),
          std::tuple("--order=1", 3, "no order of seed 1, only of 42 (--order)")}) {
        Program bad("tessera-sim", {"churn", data, "--trace=multigpu40", option},
                    folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: a text that is not a number is refused with the option's name; CLI11's own Range accepts
// "nan".
TEST(Simulator, RefusesNumbersThatAreNone) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    for (const std::string option : {"--days", "--longest", "--patience"}) {
        for (const std::string value : {"nan", "inf", "-1", "1e10", "many", ""}) {
            Program bad("tessera-sim", {"churn", data, "--trace=gpuspec25", option + "=" + value},
                        folder.file("bad"));
            EXPECT_EQ(bad.wait(kNotHanging), 2) << option << " " << value;
            EXPECT_NE(bad.output().find(option + ": \"" + value + "\" is not a number from "),
                      std::string::npos)
                << bad.output();
        }
    }
}

// Goal: a run that needs too much memory is refused before it starts. If memory runs out
// nevertheless, the program says so.
TEST(Simulator, SaysWhereMemoryIsShort) {
    const Folder folder;
    const std::vector<std::string> arguments = {
        "churn", "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb", "--trace=gpuspec25",
        "--load=100", "--policy=best-fit"};
    for (const auto& [longest, days] :
         {std::pair("--longest=1e9", "--days=0.01"), std::pair("--longest=86400", "--days=1e5")}) {
        auto many = arguments;
        many.insert(many.end(), {longest, days});
        Program bad("tessera-sim", many, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), 2);
        EXPECT_NE(bad.output().find(" tasks would arrive, and at most 50000000 are supported"),
                  std::string::npos)
            << bad.output();
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes more address space than any limit";
#endif
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit little = before;
    little.rlim_cur = rlim_t{400} << 20;
    auto large = arguments;
    large.insert(large.end(), {"--days=60", "--jobs=2"});
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
    Program bad("tessera-sim", large, folder.file("bad"));
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_EQ(bad.wait(kNotHanging), 6);
    EXPECT_EQ(bad.output(),
              "tessera-sim: not enough memory; request less, or fewer runs at a time (--jobs)\n");
}

// Goal: without --defrag-after each digit is the same as before moves existed.
TEST(Simulator, MovesNobodyUnlessToldTo) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"churn", data, "--trace=gpuspec25", "--load=100", "--policy=fgd,expected-fill",
                  "--seeds=1", "--longest=3600", "--days=0.05", "--gangs=10%x4", "-o", "csv"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
    for (const char* line :
         {"100,fgd,1,22020,96.450552,60.849228,25.204801,233.091758,0.652395,2058,"
          "79.640428,323.619721,3567.515521,1.912808",
          "100,expected-fill,1,22020,96.683870,65.835604,26.188047,293.893383,0.277872,"
          "2058,81.827017,403.232854,3103.571594,1.581152"})
        EXPECT_NE(good.output().find(line), std::string::npos) << line << "\n" << good.output();
}

}  // namespace
}  // namespace tessera
