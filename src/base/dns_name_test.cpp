#include "base/dns_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

// Goal: names that Kubernetes accepts are accepted; text that could change an API path is not.
TEST(DnsName, TakesAndRefuses) {
    const std::string longest_label(63, 'a');
    const std::string longest_name = longest_label + "." + std::string(189, 'b');
    for (const std::string& label : {std::string("a"), std::string("0-9"), longest_label}) {
        EXPECT_TRUE(is_dns_label(label)) << label;
        EXPECT_TRUE(is_dns_name(label)) << label;
    }
    for (const std::string& name : {std::string("a.b"), std::string("10.0.0.1"), longest_name}) {
        EXPECT_FALSE(is_dns_label(name)) << name;
        EXPECT_TRUE(is_dns_name(name)) << name;
    }
    for (const char* bad :
         {"", "A", "-a", "a-", "a_b", "a/b", "a..b", ".a", "a.", "..", "a b", "\xc3\xa9"}) {
        EXPECT_FALSE(is_dns_label(bad)) << bad;
        EXPECT_FALSE(is_dns_name(bad)) << bad;
    }
    EXPECT_FALSE(is_dns_label(longest_label + "a"));
    EXPECT_FALSE(is_dns_name(longest_name + "b"));
}

}  // namespace
}  // namespace tessera
