#include "base/label_value.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: every model gives a legal label value. Method: a table.
TEST(LabelValue, IsLegal) {
    EXPECT_EQ(as_label_value("NVIDIA A100-SXM4-80GB"), "NVIDIA-A100-SXM4-80GB");
    EXPECT_EQ(as_label_value("Tesla T4"), "Tesla-T4");
    EXPECT_EQ(as_label_value(" (x) "), "x");
    EXPECT_EQ(as_label_value("()"), "");
    EXPECT_EQ(as_label_value(""), "");
    EXPECT_EQ(as_label_value(std::string(62, 'a') + " b"), std::string(62, 'a'));
    EXPECT_EQ(as_label_value(std::string(80, 'a')), std::string(63, 'a'));
}

// Goal: what Kubernetes refuses is refused. Method: a table.
TEST(LabelValue, Syntax) {
    for (const char* legal : {"a", "A.b_c-9", "0"})
        EXPECT_TRUE(is_label_value(legal)) << legal;
    EXPECT_TRUE(is_label_value(std::string(63, 'a')));
    for (const char* other : {"", "-a", "a.", "a b", "a/b", "\xC3\xA4"})
        EXPECT_FALSE(is_label_value(other)) << other;
    EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

}  // namespace
}  // namespace tessera
