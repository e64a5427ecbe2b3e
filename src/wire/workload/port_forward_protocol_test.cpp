#include "wire/workload/port_forward_protocol.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::string_view_literals;

// Goal: each channel tells its port once, and what follows are the data and errors.
TEST(PortForwardProtocol, Messages) {
    ForwardReader reader(6006);  // 0x1776
    EXPECT_EQ(reader.read("\x00\x76\x17"sv)->has_value(), false);
    EXPECT_EQ(reader.read("\x01\x76\x17"sv)->has_value(), false);
    EXPECT_EQ(reader.read(""sv)->has_value(), false);
    EXPECT_EQ(reader.read("\x00"sv)->has_value(), false);
    const auto data = reader.read("\x00HTTP"sv);
    ASSERT_TRUE(data && *data);
    EXPECT_EQ((*data)->channel, ForwardChannel::data);
    EXPECT_EQ((*data)->text, "HTTP");
    const auto error = reader.read("\x01no listener"sv);
    ASSERT_TRUE(error && *error);
    EXPECT_EQ((*error)->channel, ForwardChannel::error);
    EXPECT_EQ((*error)->text, "no listener");
}

TEST(PortForwardProtocol, DataBehindThePort) {
    ForwardReader reader(6006);
    EXPECT_EQ(reader.read("\x00\x76\x17xyz"sv).value()->text, "xyz");
}

TEST(PortForwardProtocol, OtherProtocols) {
    for (const std::string_view message :
         {"\x02\x76\x17"sv, "\xff"sv, "\x00\x76"sv, "\x00"sv, "\x00\x17\x76"sv, "HTTP"sv})
        EXPECT_FALSE(ForwardReader(6006).read(message));
}

TEST(PortForwardProtocol, Requests) {
    EXPECT_EQ(write_forward_data("ab"), "\0ab"sv);
    EXPECT_EQ(forward_path({"team", "pod-1"}, 6006),
              "/api/v1/namespaces/team/pods/pod-1/portforward?ports=6006");
}

}  // namespace
}  // namespace tessera
