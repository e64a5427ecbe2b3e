#include "domain/cluster/name_index.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace tessera {
namespace {

// Goal: an index without names finds nothing.
TEST(NameIndex, Empty) {
    const NameIndex index({});
    EXPECT_EQ(index.find(""), NameIndex::kNone);
    EXPECT_EQ(index.find("n1"), NameIndex::kNone);
}

// Goal: every name finds its own position, for any number of names. Method: random names; compare
// with the list, for names that are in it and for some that are not.
RC_GTEST_PROP(NameIndexProperty, FindsWhatTheListHas, ()) {
    const auto distinct = *rc::gen::container<std::set<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange('a', 'd')));
    const std::vector<std::string> names(distinct.begin(), distinct.end());
    const NameIndex index(names);
    std::vector<std::string> asked;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        RC_ASSERT(index.find(names[i]) == i);
        const std::string longer = names[i] + "x";
        RC_ASSERT(index.find(longer) == NameIndex::kNone);
        asked.insert(asked.end(), {longer, names[i]});
    }
    const auto positions =
        index.find_all(std::vector<std::string_view>(asked.begin(), asked.end()));
    for (std::size_t i = 0; i < asked.size(); ++i)
        RC_ASSERT(positions[i] == index.find(asked[i]));
}

// Goal: the names of a large cluster, one after the other, and far more than one table size.
TEST(NameIndex, ManyNames) {
    std::vector<std::string> names;
    for (int i = 0; i < 5000; ++i)
        names.push_back("node-" + std::to_string(i));
    const NameIndex index(names);
    for (std::uint32_t i = 0; i < names.size(); ++i)
        ASSERT_EQ(index.find(names[i]), i);
    EXPECT_EQ(index.find("node-5000"), NameIndex::kNone);
}

}  // namespace
}  // namespace tessera
