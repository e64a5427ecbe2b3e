#include "wire/shell/shell_protocol.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using Frames = std::vector<ShellFrame>;

// The frames up to the end or an error; `error` has its text.
Frames read_all(ShellSide sender, std::string_view bytes, std::size_t piece, std::string& error) {
    Frames out;
    ShellFrameReader reader(sender);
    error.clear();
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        reader.add(bytes.substr(at, piece));
        for (;;) {
            auto frame = reader.next();
            if (!frame) {
                error = frame.error().text;
                return out;
            }
            if (!*frame) break;
            out.push_back(**std::move(frame));
        }
    }
    return out;
}

std::string head(char type, std::initializer_list<int> size) {
    std::string out(1, type);
    for (const int byte : size)
        out += static_cast<char>(byte);
    return out;
}

TEST(ShellProtocol, FramesInPiecesOfAnySize) {
    const Frames sent = {{FrameType::command, "echo a b"},
                         {FrameType::input, std::string(kMostPayload, '\0')},
                         {FrameType::input, "x"},
                         {FrameType::input, ""}};
    std::string bytes;
    for (const ShellFrame& frame : sent)
        bytes += write_shell_frame(frame.type, frame.payload);
    std::string error;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
        EXPECT_EQ(read_all(ShellSide::client, bytes, piece, error), sent) << piece;
        EXPECT_EQ(error, "");
    }
    const std::string answer = write_shell_frame(FrameType::output, "o") +
                               write_shell_frame(FrameType::errors, "e") + write_exit(255);
    EXPECT_EQ(
        read_all(ShellSide::server, answer, 1, error),
        (Frames{{FrameType::output, "o"}, {FrameType::errors, "e"}, {FrameType::exit, "\xff"}}));
}

TEST(ShellProtocol, WhatIsRefused) {
    struct Row {
        ShellSide sender;
        std::string bytes;
        const char* why;
    };
    const std::string command = write_shell_frame(FrameType::command, "true");
    const std::vector<Row> rows = {
        {ShellSide::client, "GET / HTTP/1.1\r\n", "unknown type"},
        {ShellSide::client, write_shell_frame(FrameType::output, "x"), "unknown type"},
        {ShellSide::server, command, "unknown type"},
        {ShellSide::client, head('C', {0, 2, 0, 0}), "too long"},
        {ShellSide::client, head('C', {255, 255, 255, 255}), "too long"},
        {ShellSide::server, head('O', {0, 0, 0, 0}), "is empty"},
        {ShellSide::client, head('C', {0, 0, 0, 0}), "is empty"},
        {ShellSide::server, head('X', {0, 0, 0, 2}), "one byte"},
        {ShellSide::client, command + command, "the first frame has the command"},
        {ShellSide::client, write_shell_frame(FrameType::input, "x"),
         "the first frame has the command"},
        {ShellSide::client,
         command + write_shell_frame(FrameType::input, "") +
             write_shell_frame(FrameType::input, "x"),
         "after its end"},
        {ShellSide::client, write_shell_frame(FrameType::command, std::string("a\0b", 3)),
         "no NUL"},
    };
    for (const Row& row : rows) {
        std::string error;
        read_all(row.sender, row.bytes, 1, error);
        EXPECT_NE(error.find(row.why), std::string::npos) << row.why << ": " << error;
    }
}

TEST(ShellProtocol, NothingBeforeAFrameIsComplete) {
    ShellFrameReader reader(ShellSide::client);
    reader.add(head('C', {0, 0, 0, 4}) + "tru");
    EXPECT_FALSE(*reader.next());
    reader.add("e");
    EXPECT_EQ((*reader.next())->payload, "true");
}

TEST(ShellProtocol, Greeting) {
    const std::string nonce(kNonceBytes, 'n');
    EXPECT_EQ(read_greeting(std::string(kShellGreeting) + nonce).value(), nonce);
    EXPECT_FALSE(read_greeting("SSH-2.0-OpenSSH_9.2\r\n" + std::string(27, 'n')));
    EXPECT_FALSE(read_greeting(kShellGreeting));
    EXPECT_FALSE(read_greeting(""));
}

// Goal: no side's proof is of use for the other one, nor for another connection.
TEST(ShellProtocol, Proofs) {
    const std::string s(kNonceBytes, 's');
    const std::string c(kNonceBytes, 'c');
    const std::string proof = shell_proof("key", ShellSide::client, s, c);
    // By Python's hmac.
    std::string hex;
    for (const char byte : proof)
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    EXPECT_EQ(hex, "c2d2bd9671611ce6c9ab13457758951a3fefbfb1e642a8f4b6d8f2be06457d67");
    const auto is_proof = [&](std::string_view bytes, std::string_view secret, ShellSide side) {
        return is_shell_proof(bytes, secret, side, s, c);
    };
    EXPECT_TRUE(is_proof(proof, "key", ShellSide::client));
    EXPECT_FALSE(is_proof(proof, "key", ShellSide::server));
    EXPECT_FALSE(is_proof(proof, "other", ShellSide::client));
    EXPECT_FALSE(is_shell_proof(proof, "key", ShellSide::client, c, s));
    EXPECT_FALSE(is_proof(proof.substr(1), "key", ShellSide::client));
    EXPECT_FALSE(is_proof("", "key", ShellSide::client));
    EXPECT_FALSE(is_proof(kRefusal, "key", ShellSide::client));
}

}  // namespace
}  // namespace tessera
