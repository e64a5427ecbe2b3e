// Goal: every hook is tested. Each way to look one up gives the same function (lookup_test.cpp), so
// it is enough that one test calls each. Method: the tests' own source text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace tessera::guard {
namespace {

namespace fs = std::filesystem;

bool is_of_name(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Removes comments and strings: a name in them is not a call.
std::string code_of(const std::string& text) {
    std::string code;
    for (std::size_t at = 0; at < text.size(); at++) {
        if (text.compare(at, 2, "//") == 0) at = std::min(text.find('\n', at), text.size());
        if (at < text.size() && text[at] == '"')
            for (at++; at < text.size() && text[at] != '"' && text[at] != '\n'; at++)
                at += text[at] == '\\' ? 1U : 0U;
        code += ' ';
        if (at < text.size() && text[at] != '"') code.back() = text[at];
    }
    return code;
}

// The words of a text, and also each name together with a suffix that follows it, as macros make
// the names of twins: BOTH(cuMemcpy, _ptds, ...).
void add_names(std::string text, std::set<std::string>& names) {
    std::ranges::replace_if(text, [](char letter) { return !is_of_name(letter); }, ' ');
    std::istringstream in(text);
    std::string before;
    for (std::string name; in >> name; before = name) {
        names.insert(name);
        if (name[0] == '_' && before.starts_with("cu")) names.insert(before + name);
    }
}

// In tests, and in the code that they use.
std::set<std::string> called_names() {
    std::set<std::string> names;
    for (const char* house : {"guard", "gpusim"}) {
        for (const auto& file :
             fs::recursive_directory_iterator(fs::path(TESSERA_SOURCE_DIR) / house)) {
            const fs::path& path = file.path();
            const bool is_support = path.parent_path().filename() == "test_support";
            const bool is_guards_test =
                path.string().ends_with("_test.cpp") && house == std::string("guard");
            if (!file.is_regular_file() || (!is_support && !is_guards_test)) continue;
            std::stringstream text;
            text << std::ifstream(path).rdbuf();
            add_names(code_of(text.str()), names);
        }
    }
    return names;
}

TEST(GuardEntryPoints, EachIsCalledByATest) {
    const std::set<std::string> called = called_names();
#define HOOK(symbol, name, since) EXPECT_TRUE(called.contains(#symbol)) << #symbol;
#include "guard/entrypoints.def"
#undef HOOK
}

}  // namespace
}  // namespace tessera::guard
