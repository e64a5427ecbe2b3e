#include "programs/tessera/older_flags.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Words = std::vector<std::string>;

// Goal: an older flag of `tessera serve` is the newer one, with a warning; words behind "--"
// and other commands are not touched.
TEST(OlderFlags, AreReplaced) {
    Words warnings;
    const auto newer = [&](const Words& words) {
        return with_newer_flags(words, [&](const std::string& text) { warnings.push_back(text); });
    };
    EXPECT_EQ(newer({"-n", "team", "serve", "tf", "--servingName=a", "--modelName", "b", "--name",
                     "c", "--", "--modelPath=/x"}),
              (Words{"-n", "team", "serve", "tf", "--name=a", "--model-name", "b", "--name", "c",
                     "--", "--modelPath=/x"}));
    EXPECT_EQ(warnings, (Words{"--servingName is an older form; use --name",
                               "--modelName is an older form; use --model-name"}));
    warnings.clear();
    for (const Words& words :
         {Words{"submit", "tf", "--modelName=a"}, Words{}, Words{"serve", "--env=--modelName=a"}})
        EXPECT_EQ(newer(words), words);
    EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace tessera
