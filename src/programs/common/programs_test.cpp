// All programs alike, as processes: what they say of themselves, and how they take their options.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;

// Goal: the help says which policies there are.
TEST(Help, NamesPolicies) {
    EXPECT_NE(output_of("tessera-controller", {"--help"}).find("placement policy: binpack ("),
              std::string::npos);
}

std::set<std::string> flags_in(std::string text) {
    for (char& c : text) {
        const bool is_of_a_word = (c >= 'a' && c <= 'z') || c == '-';
        if (!is_of_a_word) c = ' ';
    }
    std::istringstream words(text);
    std::set<std::string> out;
    for (std::string word; words >> word;) {
        if (word.starts_with('-') && word != "-") out.insert(word);  // a range has one
    }
    return out;
}

// Goal: what completes is what a command takes. Method: the flags of its --help.
TEST(CompletionWords, AreTheOptions) {
    const std::string script = output_of("tessera", {"completion", "bash"});
    for (const std::string command :
         {"inspect", "top", "doctor", "resize", "snapshot", "completion"}) {
        const std::size_t begin = script.find("    " + command + ") words=\"");
        ASSERT_NE(begin, std::string::npos) << script;
        const auto words = flags_in(script.substr(begin, script.find(";;", begin) - begin));
        EXPECT_EQ(words, flags_in(output_of("tessera", {command, "--help"}))) << script;
        EXPECT_TRUE(words.contains("--help"));
    }
    EXPECT_NE(script.find("bash zsh fish\" ;;"), std::string::npos) << script;
}

// Goal: a list may have blanks behind its commas, a seed is a whole number, and what options say
// is checked before a cluster is looked for.
TEST(Programs, CheckTheirOptionsFirst) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"replay", data, "--trace=multigpu40", "--policy", "best-fit, Packing"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(seconds(60)), 0) << good.output();
    EXPECT_NE(good.output().find("  packing  "), std::string::npos) << good.output();
    const std::string config = "--kubeconfig=" + folder.file("none");
    for (const auto& [program, arguments, text] :
         std::vector<std::tuple<std::string, std::vector<std::string>, std::string>>{
             {"tessera-sim",
              {"replay", data, "--sampling-seed=-1"},
              "--sampling-seed: \"-1\" is not a whole number from 0 to 18446744073709551615"},
             {"tessera-sim", {"churn", data, "--sampling-seed=1.5"}, "--sampling-seed: \"1.5\""},
             {"tessera-sim",
              {"churn", data, "--sampling-seed=18446744073709551616"},
              "--sampling-seed: \"18446744073709551616\""},
             {"tessera", {"snapshot", "", config}, "file: is no file's name"},
             {"tessera-sim", {"replay", "--snapshot="}, "--snapshot: is no file's name"},
             {"tessera-sim", {"bound", "--snapshot", ""}, "--snapshot: is no file's name"},
             {"tessera-sim",
              {"replay", "--snapshot", "-"},
              "tessera-sim: standard input: no snapshot: not JSON: the text is empty"},
             {"tessera",
              {"resize", "p", "--cores=0144", config},
              "--cores: \"0144\" is not a whole number from 0 to 100"},
             {"tessera-sim",
              {"churn", data, "--checkpoint=5"},
              "--checkpoint requires --defrag-after"},
             {"tessera",
              {"explain", "p", "--policy=foo", config},
              "tessera: --policy: no placement policy \"foo\"; there is binpack, "},
             {"tessera", {"explain", "P_", config}, "\"P_\" is not a pod's name"},
             {"tessera",
              {"defrag", "--policy=foo", config},
              "tessera: --policy: no placement policy"},
             {"tessera",
              {"defrag", "--for=p", "-n", "N_", config},
              "\"N_\" is not a namespace's"}}) {
        Program bad(program, arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(seconds(60)), 2) << text;
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

}  // namespace
}  // namespace tessera
