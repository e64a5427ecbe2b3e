#include "wire/text/json_patch.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: a text is written as the API server has it. With "<" in place of its escape, the server
// says that the texts differ (e2e/examples.py updates a job whose command has them).
TEST(JsonPatch, TestsWithTheServersEscapes) {
    JsonPatch patch;
    patch.test("/a", "1 < 2 > 0 && \"x\" \\ é \xe2\x80\xa8\r\b\f\x01");
    EXPECT_EQ(patch.take(),
              R"([{"op":"test","path":"/a","value":"1 \u003c 2 \u003e 0 \u0026\u0026 \"x\" \\ )"
              "é "
              R"(\u2028\r\b\f\u0001"}])");
}

TEST(JsonPatch, Operations) {
    JsonPatch patch;
    patch.test_missing("/" + pointer_part("a~b/c"));
    patch.add("/b", "<");
    patch.add_raw("/c", "{}");
    patch.remove("/d");
    EXPECT_EQ(patch.take(), R"([{"op":"test","path":"/a~0b~1c","value":null},)"
                            R"({"op":"add","path":"/b","value":"<"},)"
                            R"({"op":"add","path":"/c","value":{}},{"op":"remove","path":"/d"}])");
}

}  // namespace
}  // namespace tessera
