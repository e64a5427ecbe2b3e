// The simulator as a process: what only a whole one shows.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "adapters/os/text_file.hpp"
#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;

// Goal: the simulator reads a folder, and says which file or policy is not there.
TEST(Simulator, ReplaysAFolder) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"replay", data, "--trace=multigpu40", "--policy=BestFit,Packing", "-o", "csv"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
    EXPECT_TRUE(good.output().starts_with("trace,policy,seed,percent,allocation,"))
        << good.output();
    EXPECT_NE(good.output().find("\nmultigpu40,best-fit,42,100,95.0"), std::string::npos);
    EXPECT_NE(good.output().find("\nmultigpu40,packing,42,130,"), std::string::npos);
    for (const auto& [arguments, text] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"replay", data},
              "/openb_pod_list_default.csv: No such file or directory; there is no trace "
              "\"default\" there, only gpuspec25, multigpu40 (--trace)\n"},
             {{"replay", data, "--trace=multigpu40", "--policy=x"},
              "tessera-sim: no placement policy \"x\"; there is binpack,"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), 3);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: the simulator finds bounds, the same with any number of jobs, and says what is wrong.
TEST(Simulator, FindsBounds) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    std::set<std::string> outputs;
    for (const char* jobs : {"-j1", "-j3"}) {
        Program good("tessera-sim",
                     {"bound", data, "--trace=multigpu40,gpuspec25", "--policy=best-fit",
                      "--arrivals=60,100", jobs},
                     folder.file(jobs));
        ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
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
             {{"bound", data, "--arrivals=131"}, 2, "--arrivals: Value 131 not in range"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Decisions per second are by the clock: a whole number at the end of a line.
std::string without_speed(const std::string& text) {
    return std::regex_replace(text, std::regex(" +[0-9]+\n"), "\n");
}

// Goal: tasks come and go, the same with any number of jobs; what is named twice counts once, so
// that intervals are not narrower for it; a trace without times says so.
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
        ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
        outputs.insert(without_speed(good.output()));
    }
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_NE(outputs.begin()->find("difference to fgd, seed by seed"), std::string::npos)
        << *outputs.begin();
    for (const auto& [option, status, text] :
         {std::tuple("--order=42", 2, "tells no times"),
          std::tuple("--order=1", 3, "no order of seed 1, only of 42 (--order)")}) {
        Program bad("tessera-sim", {"churn", data, "--trace=multigpu40", option},
                    folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: a number that is none is refused with the option's name; CLI11's own range takes "nan".
TEST(Simulator, RefusesNumbersThatAreNone) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    for (const std::string option : {"--days", "--longest", "--patience"}) {
        for (const std::string value : {"nan", "inf", "-1", "1e10", "many", ""}) {
            Program bad("tessera-sim", {"churn", data, "--trace=gpuspec25", option + "=" + value},
                        folder.file("bad"));
            EXPECT_EQ(bad.wait(seconds(60)), 2) << option << " " << value;
            EXPECT_NE(bad.output().find(option + ": \"" + value + "\" is not a number from "),
                      std::string::npos)
                << bad.output();
        }
    }
}

// Goal: without --defrag-after each digit is what it was before there were moves.
TEST(Simulator, MovesNobodyUnlessToldTo) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"churn", data, "--trace=gpuspec25", "--load=100", "--policy=fgd,expected-fill",
                  "--seeds=1", "--longest=3600", "--days=0.05", "--gangs=10%x4", "-o", "csv"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
    for (const char* line :
         {"100,fgd,1,22020,96.450552,60.849228,25.204801,232.619375,0.652395,2058,"
          "79.640428,323.619721,3549.959096,1.912808",
          "100,expected-fill,1,22020,96.683870,65.835604,26.188047,292.710810,0.277872,"
          "2058,81.827017,403.232854,3079.158439,1.581152"})
        EXPECT_NE(good.output().find(line), std::string::npos) << line << "\n" << good.output();
}

// Goal: each command's help has every exit status that it may end with.
TEST(Simulator, TellsItsExitStatuses) {
    for (const char* command : {"replay", "bound", "churn"}) {
        const std::string help = output_of("tessera-sim", {command, "--help"});
        for (const char* status : {"2 wrong use", "3 no such", "6 a file", "8 what", "70 the"})
            EXPECT_NE(help.find(status), std::string::npos) << command << ": " << help;
    }
}

// What the program prints, with one job and with three, which must be the same.
std::string same_with_any_jobs(const Folder& folder, std::vector<std::string> arguments) {
    std::set<std::string> outputs;
    arguments.emplace_back();
    for (const char* jobs : {"-j1", "-j3"}) {
        arguments.back() = jobs;
        Program good("tessera-sim", arguments, folder.file(jobs));
        EXPECT_EQ(good.wait(seconds(60)), 0) << good.output();
        outputs.insert(without_speed(good.output()));
    }
    EXPECT_EQ(outputs.size(), 1U);
    return *outputs.begin();
}

// Goal: gangs, and a what-if on nodes, in every command, the same with any number of jobs.
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
    EXPECT_NE(moved.find("moves that made room for who waited"), std::string::npos) << moved;
    const std::string replayed = same_with_any_jobs(
        folder, {"replay", data, trace, "--policy=fgd,binpack", "--gangs=20%x4", "--output=csv"});
    EXPECT_NE(replayed.find("gpuspec25,binpack,42,100,"), std::string::npos);
    const std::string all = same_with_any_jobs(folder, {"bound", data, trace, "--output=csv"});
    EXPECT_NE(all, same_with_any_jobs(folder,
                                      {"bound", data, trace, "--output=csv", "--without=200 T4"}));
    for (const auto& [arguments, status, text] :
         std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
             {{"bound", data, trace, "--without=2 X"}, 3, "no node with \"X\""},
             {{"churn", data, trace, "--gangs=8"}, 2, "--gangs: \"8\" is no share"},
             {{"replay"}, 2, "--data: is missing"},
             {{"replay", data, "--format=x"}, 3, "--format: no trace format \"x\"; there is"},
             {{"replay", data, "--format=dlrm2025"}, 2, "name a list with --nodes"},
             {{"bound", data, "--format=pai2020", trace}, 2, "--trace: pai2020 is one trace"},
             {{"churn", data, "--together"}, 2, "--together: openb has no tasks of several"},
             {{"replay", "--snapshot=x", "--seed=1,2"},
              2,
              "--seed: pods of a snapshot come in one"},
             {{"play"}, 2, "no command \"play\"; there is replay, bound and churn"},
             {{"replay", data, "--snapshot=x"}, 2, "excludes"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), status);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: a snapshot is replayed, and bounded; a fault in it is named with the file.
TEST(Simulator, ReplaysASnapshot) {
    const Folder folder;
    const std::string file = folder.file("snapshot");
    const std::string text =
        R"({"version":1,"taken":"2026-01-31T12:00:00Z","nodes":[{"name":"n","unit":"GiB","host":)"
        R"({"cpuMilli":8000,"memory":34359738368},"cards":[{"model":"T4","memory":1000},)"
        R"({"model":"T4","memory":1000}]}],"pods":[{"namespace":"s","name":"p","node":"n","host":)"
        R"({"cpuMilli":1,"memory":1},"asks":[{"kind":"app","gpus":1,"memory":"bytes",)"
        R"("amount":500}],"holds":[{"kind":"app","shares":[{"card":1,"memory":500}]}]},)"
        R"({"namespace":"s","name":"q","host":{"cpuMilli":1,"memory":1},"asks":[{"kind":"app",)"
        R"("gpus":1,"memory":"wholeCard"}]}]})";
    ASSERT_TRUE(write_text_file(file, text));
    const std::string told =
        same_with_any_jobs(folder, {"replay", "--snapshot=" + file, "--policy=fgd,binpack,random"});
    EXPECT_NE(told.find("s/q          n:0"), std::string::npos) << told;
    const std::string bound =
        same_with_any_jobs(folder, {"bound", "--snapshot=" + file, "--policy=binpack"});
    EXPECT_NE(bound.find("snapshot     0   75.00   75.00           -  binpack   75.00"),
              std::string::npos)
        << bound;
    ASSERT_TRUE(
        write_text_file(file, R"({"version":1,"taken":"2026-01-31T12:00:00Z","nodes":[{}]})"));
    Program bad("tessera-sim", {"replay", "--snapshot=" + file}, folder.file("bad"));
    EXPECT_EQ(bad.wait(seconds(60)), 2);
    EXPECT_NE(bad.output().find("snapshot: nodes[0].name: missing"), std::string::npos)
        << bad.output();
}

// Goal: the curves are drawn into the file that was named, as its ending says.
TEST(Simulator, Draws) {
    const Folder folder;
    for (const auto& [name, begin] :
         {std::pair("picture.svg", "<?xml "), std::pair("picture.png", "\x89PNG")}) {
        const std::string picture = folder.file(name);
        Program good("tessera-sim",
                     {"replay", "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb",
                      "--trace=multigpu40", "--policy=binpack", "--plot=" + picture},
                     folder.file("good"));
        const int status = good.wait(seconds(60));
        const bool lacks_driver = good.output().find("plplot-driver-cairo") != std::string::npos;
        EXPECT_EQ(status, lacks_driver ? 6 : 0) << good.output();
        if (lacks_driver) continue;
        const auto drawn = read_text_file(picture);
        ASSERT_TRUE(drawn) << drawn.error().text;
        EXPECT_TRUE(drawn->starts_with(begin)) << name;
    }
}

// Goal: no picture is drawn over a file that is read, nor where its name says that it would be
// something else; nor is there a say on one that nobody asked for.
TEST(Simulator, RefusesPictures) {
    const Folder folder;
    const std::string fixture = TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    const std::string data = folder.file("data");
    std::filesystem::copy(fixture, data, std::filesystem::copy_options::recursive);
    const std::string pods = data + "/openb_pod_list_gpuspec25.csv";
    std::filesystem::create_symlink(pods, folder.file("link"));
    const std::string before = *read_text_file(pods);
    for (const auto& [options, text] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--plot=" + folder.file("link")}, "link is read, and would be lost"},
             {{"--plot=" + folder.file("x.pdf")}, "\".pdf\" is no kind of picture"},
             {{"--plot="}, "--plot: is no file's name"}}) {
        for (const char* command : {"replay", "churn"}) {
            std::vector<std::string> arguments = {command, "--data=" + data, "--trace=gpuspec25"};
            arguments.insert(arguments.end(), options.begin(), options.end());
            Program bad("tessera-sim", arguments, folder.file("bad"));
            EXPECT_EQ(bad.wait(seconds(60)), 2);
            EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
        }
    }
    EXPECT_EQ(*read_text_file(pods), before);
    for (const char* option : {"--plot-from=50", "--plot-figure=allocation"}) {
        Program bad("tessera-sim", {"replay", "--data=" + data, "--trace=gpuspec25", option},
                    folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), 2);
        EXPECT_NE(bad.output().find("requires --plot"), std::string::npos) << bad.output();
    }
}

// Goal: churn draws its figures over the load, and takes a trace's own times for one.
TEST(Simulator, DrawsChurnAndTakesRecordedTimes) {
    const Folder folder;
    const std::string picture = folder.file("picture.svg");
    const std::vector<std::string> arguments = {"churn",
                                                "--data=" TESSERA_SOURCE_DIR
                                                "/testing/fixtures/openb",
                                                "--trace=gpuspec25",
                                                "--policy=binpack",
                                                "--seeds=1",
                                                "--longest=600",
                                                "--days=0.01",
                                                "--plot=" + picture};
    auto both = arguments;
    both.emplace_back("--load=50, as-recorded");
    Program good("tessera-sim", both, folder.file("good"));
    ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
    EXPECT_NE(good.output().find("\nas-recorded  binpack        8152 "), std::string::npos)
        << good.output();
    const auto drawn = read_text_file(picture);
    ASSERT_TRUE(drawn) << drawn.error().text;
    EXPECT_NE(drawn->find("&#x25cf;"), std::string::npos) << "a dot";
    for (const auto& [load, text] :
         {std::pair("--load=as-recorded", "--plot: the curves are over the load"),
          std::pair("--load=201",
                    "--load: \"201\" is neither a percentage from 1 to 200 nor as")}) {
        auto wrong = arguments;
        wrong.emplace_back(load);
        Program bad("tessera-sim", wrong, folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), 2);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: a picture that cannot be written is refused before the runs, not after them. Method: the
// trace is not there either, which is seen later.
TEST(Simulator, LooksAtThePictureFirst) {
    const Folder folder;
    Program bad("tessera-sim",
                {"replay", "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb",
                 "--plot=" + folder.file("no/such.svg")},
                folder.file("bad"));
    EXPECT_EQ(bad.wait(seconds(60)), 6);
    EXPECT_NE(bad.output().find("tessera-sim: --plot: "), std::string::npos) << bad.output();
    EXPECT_NE(bad.output().find("no/such.svg: No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace tessera
