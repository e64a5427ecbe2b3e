// How the simulator's commands parse their options.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

// Goal: a list may have blanks after its commas, a seed is a whole number, and options are checked
// before a trace is read.
TEST(SimulatorOptions, AreCheckedFirst) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"replay", data, "--trace=multigpu40", "--policy", "best-fit, Packing"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
    EXPECT_NE(good.output().find("  packing  "), std::string::npos) << good.output();
    for (const auto& [arguments, text] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"replay", data, "--sampling-seed=-1"},
              "--sampling-seed: \"-1\" is not a whole number from 0 to 18446744073709551615"},
             {{"churn", data, "--sampling-seed=1.5"}, "--sampling-seed: \"1.5\""},
             {{"churn", data, "--sampling-seed=18446744073709551616"},
              "--sampling-seed: \"18446744073709551616\""},
             {{"replay", "--snapshot="}, "--snapshot: is not a file name"},
             {{"bound", "--snapshot", ""}, "--snapshot: is not a file name"},
             {{"replay", "--snapshot", "-"},
              "tessera-sim: standard input: no snapshot: not JSON: the text is empty"},
             {{"churn", data, "--checkpoint=5"}, "--checkpoint requires --defrag-after"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), 2) << text;
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

}  // namespace
}  // namespace tessera
