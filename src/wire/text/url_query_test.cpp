#include "wire/text/url_query.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

TEST(UrlQuery, Parameters) {
    const std::pair<const char*, Parameters> cases[] = {
        {"", {}},
        {"&&", {}},
        {"a", {{"a", ""}}},
        {"a=", {{"a", ""}}},
        {"=b", {{"", "b"}}},
        {"a=b=c&d=e", {{"a", "b=c"}, {"d", "e"}}},
        {"a=1&a=2", {{"a", "1"}, {"a", "2"}}},
        {"a%3D=b%26c+d", {{"a=", "b&c d"}}},
        {"a=%4&b=%zz&c=%", {{"a", "%4"}, {"b", "%zz"}, {"c", "%"}}},
    };
    for (const auto& [query, parameters] : cases)
        EXPECT_EQ(query_parameters(query), parameters) << query;
}

// Goal: what is encoded is read back.
TEST(UrlQuery, IsReadBack) {
    EXPECT_EQ(encode_query("a-b_c.d~e/f&g=h i+%ü"), "a-b_c.d~e%2Ff%26g%3Dh%20i%2B%25%C3%BC");
    EXPECT_EQ(encode_query("a/b=c,d in (e),f!=g_h-1.2~&#%"),
              "a%2Fb%3Dc%2Cd%20in%20%28e%29%2Cf%21%3Dg_h-1.2~%26%23%25");
    std::string all;
    for (int c = 0; c < 256; ++c)
        all += static_cast<char>(c);
    EXPECT_EQ(query_parameters(encode_query(all) + "=" + encode_query(all)),
              (Parameters{{all, all}}));
}

}  // namespace
}  // namespace tessera
