// Goal: what commands answer for servers that run, which the goldens cannot show without a GPU;
// which users may run them; and that no text breaks them. golden/ has the other answers.
#include "gpusim/mps/commands.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

namespace gpusim::mps {
namespace {

class MpsCommands : public testing::Test {
  protected:
    MpsCommands() {
        Server* server = control_.servers.add(77, 0, control_.defaults);
        server->ready = true;
        server->device_count = 2;
    }

    std::string run(std::string line) {
        answer_->clear();
        outcome_ = execute(control_, caller_, line.data(), *answer_);
        return {answer_->text, answer_->size};
    }

    Control control_;
    Caller caller_ = {0, true};
    Outcome outcome_;
    std::unique_ptr<Answer> answer_ = std::make_unique<Answer>();
};

TEST_F(MpsCommands, OfAServer) {
    EXPECT_EQ(run("get_server_list"), "77\n");
    EXPECT_EQ(run("get_server_status 77"), "ACTIVE\n");
    EXPECT_EQ(run("get_client_list 77"), "");
    EXPECT_EQ(run("ps"), "");
    EXPECT_EQ(run("ps -p 77"), "");
    EXPECT_EQ(run("get_active_thread_percentage 77"), "100.0\n");
    EXPECT_EQ(run("set_active_thread_percentage 77 25"), "25.0\n");
    EXPECT_EQ(run("set_active_thread_percentage 77 250"), "25.0\n");
    EXPECT_STREQ(outcome_.note, "Invalid percentage, expected between (0.0, 100.0]");
    EXPECT_EQ(run("get_default_active_thread_percentage"), "100.0\n");
}

TEST_F(MpsCommands, PinnedLimitsOfAServer) {
    EXPECT_EQ(run("get_device_pinned_mem_limit 77 0"), "");
    EXPECT_EQ(run("set_device_pinned_mem_limit 77 0 2G"), "");
    EXPECT_EQ(run("get_device_pinned_mem_limit 77 0"), "2G\n");
    EXPECT_EQ(run("set_device_pinned_mem_limit 77 7 2G"), "");
    EXPECT_STREQ(outcome_.note, "Invalid device ordinal!");
    EXPECT_EQ(run("get_device_pinned_mem_limit 77 7"), "");
    EXPECT_EQ(run("get_default_device_pinned_mem_limit 0"), "");
    EXPECT_STREQ(outcome_.note, "No default pinned memory limit set for the device!");
}

TEST_F(MpsCommands, ChangesOfProcesses) {
    EXPECT_EQ(run("start_server -uid 1000"), "");
    EXPECT_EQ(outcome_.action, Action::start_server);
    EXPECT_EQ(outcome_.uid, 1000U);
    EXPECT_EQ(run("start_server -uid 0"), "");  // there is one
    EXPECT_EQ(outcome_.action, Action::none);
    EXPECT_EQ(run("shutdown_server 77"), "");
    EXPECT_EQ(outcome_.action, Action::shutdown_server);
    EXPECT_EQ(outcome_.pid, 77);
    EXPECT_EQ(run("shutdown_server 77 -f"), "");
    EXPECT_EQ(outcome_.action, Action::kill_server);
    EXPECT_EQ(outcome_.pid, 77);
    EXPECT_EQ(run("quit"), "");
    EXPECT_EQ(outcome_.action, Action::quit);
    EXPECT_EQ(outcome_.timeout_s, -1);
    run("quit -t 5");
    EXPECT_EQ(outcome_.timeout_s, 5);
}

TEST_F(MpsCommands, UsersWithoutPrivilege) {
    caller_ = {65534, false};
    constexpr char kRefused[] =
        "Insufficient privileges for UID 65534. Control deamon settings can only be modified by "
        "the user started it or by the root user.\n";
    for (const char* line :
         {"set_default_active_thread_percentage 25", "set_default_device_pinned_mem_limit 0 2G",
          "set_default_client_priority 1", "set_active_thread_percentage 77 25",
          "set_device_pinned_mem_limit 77 0 2G"}) {
        EXPECT_EQ(run(line), kRefused) << line;
    }
    EXPECT_EQ(run("start_server -uid 1"),
              "Insufficient privileges for UID 65534. Only the root user may start server for "
              "another user.\n");
    EXPECT_EQ(run("quit"), "Not enough privilege to execute quit command\n");
    EXPECT_EQ(outcome_.action, Action::none);
    run("start_server -uid 65534");
    EXPECT_EQ(outcome_.action, Action::start_server);
    control_.version = Version::v535;
    EXPECT_EQ(run("set_default_active_thread_percentage 25"), "25.0\n");
    EXPECT_EQ(run("start_server -uid 1"), "Insufficient privileges for UID 65534\n");
}

TEST_F(MpsCommands, ALongAnswerIsCut) {
    const std::string answer = run(std::string(kMaxCommand - 1, 'x'));
    EXPECT_EQ(answer.size(), kMaxAnswerLine + 1);
    EXPECT_EQ(answer.back(), '\n');
}

TEST_F(MpsCommands, AnyTextIsAnswered) {
    std::mt19937 random(1);
    const std::string words[] = {"ps",
                                 "-p",
                                 "77",
                                 "0",
                                 "set_device_pinned_mem_limit",
                                 "-uid",
                                 "start_server",
                                 "get_server_status",
                                 "\x01\xff",
                                 "%s%n",
                                 "1e999",
                                 "-9223372036854775809",
                                 "set_active_thread_percentage"};
    for (int round = 0; round < 2000; round++) {
        std::string line;
        for (std::size_t left = random() % 12; left > 0; left--)
            line += words[random() % std::size(words)] + " ";
        run(line);
        EXPECT_LE(answer_->size, kMaxAnswer);
    }
}

}  // namespace
}  // namespace gpusim::mps
