// All programs as processes: their help, and how they parse their options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

// Goal: the help lists the policies.
TEST(Help, NamesPolicies) {
    EXPECT_NE(output_of("tessera-controller", {"--help"}).find("placement policy: binpack ("),
              std::string::npos);
}

// Goal: a bug report can name the commit that a program was built from.
TEST(Version, NamesTheCommit) {
    const std::string commit = R"( \(([0-9a-f]{12}(-changed)?|unknown)\))";
    for (const std::string program : {"tessera", "tessera-controller"}) {
        EXPECT_THAT(output_of(program, {"--version"}),
                    ::testing::ContainsRegex("^" + program + " " TESSERA_VERSION + commit));
    }
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

// Goal: completion offers the options of each command. Method: the flags of its --help.
TEST(CompletionWords, AreTheOptions) {
    const std::string script = output_of("tessera", {"completion", "bash"});
    for (const std::string command :
         {"inspect", "top", "doctor", "resize", "snapshot", "clean-nodes", "completion"}) {
        const std::size_t begin = script.find("    \"" + command + "\") words=\"");
        ASSERT_NE(begin, std::string::npos) << script;
        const auto words = flags_in(script.substr(begin, script.find(";;", begin) - begin));
        EXPECT_EQ(words, flags_in(output_of("tessera", {command, "--help"}))) << script;
        EXPECT_TRUE(words.contains("--help"));
    }
    EXPECT_NE(script.find("bash zsh fish\" ;;"), std::string::npos) << script;
}

// Goal: the values of an option that accepts only some are offered after it. After an option that
// accepts any text, nothing is: neither its values nor other options are known to fit.
TEST(CompletionWords, AreTheValues) {
    const std::string bash = output_of("tessera", {"completion", "bash"});
    for (const std::string row : {
             R"("top -o"|"top --output") words="json yaml wide" ;;)",
             R"("explain --policy") words="binpack spread )",
             R"("snapshot --context"|"snapshot --kubeconfig"|"snapshot --config") words="" ;;)",
         })
        EXPECT_NE(bash.find(row), std::string::npos) << row << "\n" << bash;
    EXPECT_NE(bash.find("    \"migrate\") words=\"-h --help gpushare "), std::string::npos) << bash;
    EXPECT_EQ(bash.find("\"inspect --details\""), std::string::npos) << "a flag has no value";
    const std::string fish = output_of("tessera", {"completion", "fish"});
    EXPECT_NE(fish.find("'__fish_seen_subcommand_from top' -s o -l output -x -a 'json yaml wide'"),
              std::string::npos)
        << fish;
}

// Goal: bash offers the commands of a group, their options and values, and names with aliases.
TEST(CompletionWords, OfGroups) {
    const Folder folder;
    const auto offered = [&](const std::string& words) {
        std::ofstream(folder.file("complete"))
            << "source <('" TESSERA_BINARY_DIR "/bin/tessera' completion bash)\n"
            << "COMP_WORDS=(" << words << " '')\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_tessera\n"
            << "echo \"${COMPREPLY[*]}\" > '" << folder.file("out") << "'\n";
        EXPECT_EQ(std::system(("bash '" + folder.file("complete") + "'").c_str()), 0);
        std::ifstream out(folder.file("out"));
        return std::string(std::istreambuf_iterator<char>(out), {});
    };
    EXPECT_TRUE(offered("tessera serve")
                    .starts_with("tensorflow triton custom update traffic-split list get"));
    EXPECT_TRUE(offered("tessera serve update").starts_with("tensorflow triton custom "));
    EXPECT_EQ(offered("tessera serve ls -o"), "json yaml wide\n");
    EXPECT_EQ(offered("tessera serve update tf -o"), "json yaml\n");
    EXPECT_NE(offered("tessera serve get").find("--version"), std::string::npos);
    EXPECT_EQ(offered("tessera serve get --version"), "\n");
}

// Goal: options are checked before a cluster is contacted.
TEST(Programs, CheckTheirOptionsFirst) {
    const Folder folder;
    const std::string config = "--kubeconfig=" + folder.file("none");
    for (const auto& [arguments, text] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"snapshot", "", config}, "tessera: file: is not a file name"},
             {{"top", "-o", "xml", config}, "tessera: --output: xml not in {json,yaml,wide}"},
             // -n is a pod's namespace, so it is no option of a command without a pod.
             {{"doctor", "-n", "gpu-system", config},
              "tessera: The following arguments were not expected: "},
             {{"doctor", "--tessera-namespace=", config}, "tessera: --tessera-namespace: is empty"},
             {{"top", "--unknown", config}, "tessera: The following argument was not expected: "},
             {{"snapshot", folder.file("none/s.json"), config},
              "tessera: file: " + folder.file("none/s.json") +
                  ": No such file or directory; name a file in a folder in which you may write"},
             {{"snapshot", folder.file(""), config}, ": Is a directory; name a file"},
             {{"resize", "p", "--cores=0144", config},
              "--cores: \"0144\" is not a whole number from 0 to 100"},
             {{"explain", "p", "--policy=foo", config},
              "tessera: --policy: no placement policy \"foo\"; there is binpack, "},
             {{"explain", "P_", config}, "\"P_\" is not a valid pod name"},
             {{"defrag", "--policy=foo", config}, "tessera: --policy: no placement policy"},
             {{"defrag", "--for=p", "-n", "N_", config}, "\"N_\" is not a valid namespace"}}) {
        Program bad("tessera", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), 2) << text;
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

}  // namespace
}  // namespace tessera
