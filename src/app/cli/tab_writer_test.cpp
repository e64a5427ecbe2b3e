#include "app/cli/tab_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

// Goal: the output of Go's text/tabwriter with padding 2. Method: a table of texts and Go's output.
TEST(AlignTabs, AsGo) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", ""},
        {"\n", "\n"},
        {"a\n", "a\n"},
        {"a\tb\n", "a  b\n"},
        {"a\tb", "a  b"},
        {"a\tb\t\n", "a  b  \n"},
        {"aaa\tb\na\tbbb\n", "aaa  b\na    bbb\n"},
        {"a\tb\n\naaaa\tb\n", "a  b\n\naaaa  b\n"},
        {"a\tb\tc\nlong\td\n", "a     b  c\nlong  d\n"},
        {"\tx\n", "  x\n"},
        {"é\tb\nee\tb\n", "é   b\nee  b\n"},
        {"no tab\na\tb\n", "no tab\na  b\n"},
    };
    for (const auto& [text, expected] : cases)
        EXPECT_EQ(align_tabs(text), expected) << text;
}

}  // namespace
}  // namespace tessera
