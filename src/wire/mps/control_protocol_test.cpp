#include "wire/mps/control_protocol.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the commands are those of NVIDIA's manual.
TEST(MpsControlProtocol, WritesCommands) {
    EXPECT_EQ(mps::set_default_threads({25}), "set_default_active_thread_percentage 25");
    EXPECT_EQ(mps::set_default_memory(gibibytes(3)), "set_default_device_pinned_mem_limit 0 3072M");
    EXPECT_EQ(mps::set_default_memory({gibibytes(1).count + kMiB - 1}),
              "set_default_device_pinned_mem_limit 0 1024M");
    EXPECT_EQ(mps::get_threads(7), "get_active_thread_percentage 7");
    EXPECT_EQ(mps::set_threads(7, {100}), "set_active_thread_percentage 7 100");
    EXPECT_EQ(mps::get_memory(7), "get_device_pinned_mem_limit 7 0");
    EXPECT_EQ(mps::set_memory(7, mebibytes(512)), "set_device_pinned_mem_limit 7 0 512M");
}

// Goal: the answers that the drivers 535, 550 and 580 gave are read.
TEST(MpsControlProtocol, ReadsAnswers) {
    EXPECT_EQ(mps::read_milli_percent("100.0\n").value(), 100'000);
    EXPECT_EQ(mps::read_milli_percent("33.3\n").value(), 33'300);
    EXPECT_EQ(mps::read_memory("3G\n").value(), gibibytes(3));
    EXPECT_EQ(mps::read_memory("512M\n").value(), mebibytes(512));
    EXPECT_EQ(mps::read_memory("").value(), std::nullopt);
    EXPECT_EQ(mps::read_pids("").value(), std::vector<std::int64_t>{});
    EXPECT_EQ(mps::read_pids("2957\n13\n").value(), (std::vector<std::int64_t>{2957, 13}));
    EXPECT_TRUE(mps::check_taken("\n"));
    EXPECT_EQ(mps::read_status("ACTIVE\n").value(), mps::ServerStatus::active);
    EXPECT_EQ(mps::read_status("FAULT").value(), mps::ServerStatus::fault);
    EXPECT_EQ(mps::read_status("INITIALIZING").value(), mps::ServerStatus::starting);
    EXPECT_EQ(mps::read_status("Unknown command \"get_server_status\"\n").value(),
              mps::ServerStatus::unknown);
}

// Goal: what a daemon shows of a limit is not taken for another limit, nor for none.
TEST(MpsControlProtocol, ComparesWhatIsShown) {
    EXPECT_TRUE(mps::shows_memory(gibibytes(3), gibibytes(3)));
    EXPECT_TRUE(mps::shows_memory(gibibytes(1), mebibytes(1500)));
    EXPECT_TRUE(mps::shows_memory(mebibytes(1500), {mebibytes(1500).count + 7}));
    EXPECT_TRUE(mps::shows_memory(mebibytes(512), mebibytes(512)));
    EXPECT_FALSE(mps::shows_memory(std::nullopt, gibibytes(3)));
    EXPECT_FALSE(mps::shows_memory(Bytes{0}, mebibytes(512)));
    EXPECT_FALSE(mps::shows_memory(gibibytes(2), mebibytes(1500)));
    EXPECT_FALSE(mps::shows_memory(gibibytes(2), gibibytes(3)));
}

struct BadAnswer {
    std::string_view text;
    Code code;
    std::string_view error;
};

// Goal: a refusal is no answer, and its reason is kept.
TEST(MpsControlProtocol, ReadsRefusals) {
    const BadAnswer answers[] = {
        {"Server 1 not found\n", Code::not_found, "Server 1 not found"},
        {"Unknown command \"get_server_status\"\n", Code::unsupported,
         "Unknown command \"get_server_status\""},
        {"Insufficient privileges for UID 65534. Control deamon settings can only be modified by "
         "the user started it or by the root user.\n",
         Code::permission_denied,
         "Insufficient privileges for UID 65534. Control deamon settings can only be modified by "
         "the user started it or by the root user."},
        {"Not enough privilege to execute quit command\n", Code::permission_denied,
         "Not enough privilege to execute quit command"},
    };
    for (const auto& [text, code, error] : answers) {
        for (const auto& failure :
             {Result<>(fail(mps::read_milli_percent(text).error())),
              Result<>(fail(mps::read_memory(text).error())),
              Result<>(fail(mps::read_pids(text).error())), mps::check_taken(text)}) {
            ASSERT_FALSE(failure) << text;
            EXPECT_EQ(failure.error().code, code) << text;
            EXPECT_EQ(failure.error().text, error);
        }
    }
}

// Goal: what is no value is never read as one.
TEST(MpsControlProtocol, RefusesWhatIsNoValue) {
    const auto bad = mps::read_milli_percent("\x01 bad");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error(), (Error{Code::conflict, "MPS's control daemon answers \"  bad\""}));
    EXPECT_FALSE(mps::read_status("READY"));
    EXPECT_FALSE(mps::read_status(""));
    EXPECT_TRUE(mps::check_taken("Limit set\n")) << "what a later driver may say";
    for (const char* text : {"", "100.1", "-1", "1k", "0x10", "1 2", "nan", "25.0\n25.0"})
        EXPECT_FALSE(mps::read_milli_percent(text)) << text;
    for (const char* text : {"3", "G", "-3G", "1.5G", "3T", "3 G", "9223372036854775807G"})
        EXPECT_FALSE(mps::read_memory(text)) << text;
    for (const char* text : {"0", "-1", "1.5", "99999999999", "1 x"})
        EXPECT_FALSE(mps::read_pids(text)) << text;
    std::string many;
    for (int i = 0; i < 4097; i++)
        many += "1\n";
    EXPECT_FALSE(mps::read_pids(many));
}

}  // namespace
}  // namespace tessera
