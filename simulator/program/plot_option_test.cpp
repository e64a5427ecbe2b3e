// `--plot` of the simulator, as a process.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "adapters/os/text_file.hpp"
#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

// Goal: the curves are drawn into the named file, in the format of its extension.
TEST(Simulator, Draws) {
    const Folder folder;
    for (const auto& [name, begin] :
         {std::pair("picture.svg", "<?xml "), std::pair("picture.png", "\x89PNG")}) {
        const std::string picture = folder.file(name);
        Program good("tessera-sim",
                     {"replay", "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb",
                      "--trace=multigpu40", "--policy=binpack", "--plot=" + picture},
                     folder.file("good"));
        const int status = good.wait(kNotHanging);
        const bool lacks_driver = good.output().find("plplot-driver-cairo") != std::string::npos;
        EXPECT_EQ(status, lacks_driver ? 6 : 0) << good.output();
        if (lacks_driver) continue;
        const auto drawn = read_text_file(picture);
        ASSERT_TRUE(drawn) << drawn.error().text;
        EXPECT_TRUE(drawn->starts_with(begin)) << name;
    }
}

// Goal: a picture does not overwrite an input file, and its name must have the extension of a known
// format. Without --plot nothing is said about pictures.
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
             {{"--plot=" + folder.file("link")}, "link is an input file and would be overwritten"},
             {{"--plot=" + folder.file("x.pdf")}, "\".pdf\" is no kind of picture"},
             {{"--plot="}, "--plot: is no file's name"},
             {{"--plot=-"}, "--plot: standard output is used for the results; name a file"}}) {
        for (const char* command : {"replay", "churn"}) {
            std::vector<std::string> arguments = {command, "--data=" + data, "--trace=gpuspec25"};
            arguments.insert(arguments.end(), options.begin(), options.end());
            Program bad("tessera-sim", arguments, folder.file("bad"));
            EXPECT_EQ(bad.wait(kNotHanging), 2);
            EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
        }
    }
    EXPECT_EQ(*read_text_file(pods), before);
    for (const char* option : {"--plot-from=50", "--plot-figure=allocation"}) {
        Program bad("tessera-sim", {"replay", "--data=" + data, "--trace=gpuspec25", option},
                    folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), 2);
        EXPECT_NE(bad.output().find("requires --plot"), std::string::npos) << bad.output();
    }
}

// Goal: churn draws its figures over the load, and also accepts a trace's recorded times.
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
    ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
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
        EXPECT_EQ(bad.wait(kNotHanging), 2);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: a picture that cannot be written is refused before the runs. Method: the trace does not
// exist either, which would be found later.
TEST(Simulator, LooksAtThePictureFirst) {
    const Folder folder;
    Program bad("tessera-sim",
                {"replay", "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb",
                 "--plot=" + folder.file("no/such.svg")},
                folder.file("bad"));
    EXPECT_EQ(bad.wait(kNotHanging), 2) << "the path is wrong: a retry does not help";
    EXPECT_NE(bad.output().find("tessera-sim: --plot: "), std::string::npos) << bad.output();
    EXPECT_NE(bad.output().find("no/such.svg: No such file or directory; name a file"),
              std::string::npos);
}

}  // namespace
}  // namespace tessera
