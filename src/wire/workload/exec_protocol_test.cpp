#include "wire/workload/exec_protocol.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ExecProtocol, Messages) {
    const auto read = read_exec_message(std::string_view("\1text", 5));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->channel, ExecChannel::output);
    EXPECT_EQ(read->text, "text");
    EXPECT_EQ(read_exec_message(std::string_view("\0", 1))->text, "");
    for (const std::string_view other :
         {std::string_view(), std::string_view("\5x"), std::string_view("\xff\1")})
        EXPECT_FALSE(read_exec_message(other));
    EXPECT_EQ(write_exec_message(ExecChannel::input, "ab"), std::string("\0ab", 3));
    EXPECT_EQ(write_exec_input_end(), std::string("\xff\0", 2));
    EXPECT_EQ(write_exec_size(80, 24), "\4{\"Width\":80,\"Height\":24}");
}

TEST(ExecProtocol, Status) {
    EXPECT_EQ(read_exec_status(R"({"metadata":{},"status":"Success"})").value(), 0);
    EXPECT_EQ(read_exec_status(R"({"status":"Failure","reason":"NonZeroExitCode","message":"m",)"
                               R"("details":{"causes":[{"reason":"ExitCode","message":"3"}]}})")
                  .value(),
              3);
    EXPECT_EQ(read_exec_status(R"({"status":"Failure","message":"no such file",)"
                               R"("details":{"causes":[{"reason":"ExitCode","message":"x"}]}})")
                  .error()
                  .text,
              "no such file");
    for (const char* text : {"", "{", "{}", "[]", R"({"details":{"causes":7}})"}) {
        EXPECT_EQ(read_exec_status(text).error().text,
                  "the API server does not say how the command ended")
            << text;
    }
}

TEST(ExecProtocol, Path) {
    EXPECT_EQ(exec_path({{"team", "pod-1"}, "main", {"sh", "-c", "echo a&b=c é"}, false}),
              "/api/v1/namespaces/team/pods/pod-1/exec?container=main&stdin=true&stdout=true"
              "&stderr=true&command=sh&command=-c&command=echo%20a%26b%3Dc%20%C3%A9");
    EXPECT_TRUE(exec_path({{"a", "b"}, "c", {"sh"}, true}).ends_with("&tty=true&command=sh"));
}

}  // namespace
}  // namespace tessera
