#include "adapters/mps/vendor_control_daemon.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "adapters/mps/bounded_log.hpp"
#include "adapters/mps/control_daemon_fixture_test.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;

class VendorControlDaemonTest : public ControlDaemonFixture {};

// Goal: a daemon takes commands when start() returns, and containers get only what clients need.
TEST_F(VendorControlDaemonTest, StartsAndOpens) {
    VendorControlDaemon daemon = made();
    EXPECT_EQ(pid_of(daemon), std::nullopt);
    const auto started = daemon.start();
    ASSERT_TRUE(started) << started.error().text;
    ASSERT_TRUE(pid_of(daemon));
    EXPECT_EQ(daemon.execute("set_default_active_thread_percentage 25").value(), "25.0\n");
    EXPECT_EQ(daemon.execute("get_server_list").value(), "");
    EXPECT_THAT(names_in(paths().tenants()), testing::IsEmpty());
    EXPECT_FALSE(daemon.execute_as_tenant("get_server_list")) << "it is not open";
    ASSERT_TRUE(daemon.open());
    EXPECT_THAT(names_in(paths().tenants()), ElementsAre("control"));
    EXPECT_EQ(daemon.execute_as_tenant("get_default_active_thread_percentage").value(), "25.0\n");
    EXPECT_THAT(daemon.execute_as_tenant("quit").value(), HasSubstr("Not enough privilege"));
    EXPECT_TRUE(pid_of(daemon));
    daemon.close();
    EXPECT_FALSE(daemon.execute_as_tenant("get_server_list"));
}

// Goal: a process that starts later finds the daemon, and it is the same one.
TEST_F(VendorControlDaemonTest, FindsARunningDaemon) {
    VendorControlDaemon first = made();
    ASSERT_TRUE(first.start());
    VendorControlDaemon second = made();
    EXPECT_EQ(pid_of(second), pid_of(first));
    EXPECT_EQ(second.execute("get_default_active_thread_percentage").value(), "100.0\n");
    const auto again = second.start();
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().text, HasSubstr("already running"));
    EXPECT_EQ(pid_of(second), pid_of(first)) << "it is unharmed";
}

// Goal: what a killed daemon leaves does not look like a daemon, and does not keep the next from
// starting.
TEST_F(VendorControlDaemonTest, StartsAfterAKill) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    ASSERT_TRUE(daemon.open());
    const std::int64_t pid = *pid_of(daemon);
    ASSERT_EQ(::kill(static_cast<pid_t>(pid), SIGKILL), 0);
    wait_until([&] { return !pid_of(daemon); });
    EXPECT_TRUE(fs::exists(paths().pipes() / "control"));
    const auto answer = daemon.execute("get_server_list");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().text, HasSubstr("Cannot find MPS control daemon process"));
    ASSERT_TRUE(daemon.start());
    EXPECT_NE(*pid_of(daemon), pid);
    EXPECT_FALSE(daemon.execute_as_tenant("get_server_list")) << "the socket of the dead daemon";
    ASSERT_TRUE(daemon.open());
    EXPECT_TRUE(daemon.execute_as_tenant("get_server_list"));
}

// Goal: a daemon that hangs delays the caller for 2 seconds, and can be ended.
TEST_F(VendorControlDaemonTest, EndsADaemonThatHangs) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    const std::int64_t pid = *pid_of(daemon);
    ASSERT_EQ(::kill(static_cast<pid_t>(pid), SIGSTOP), 0);
    const auto answer = daemon.execute("get_server_list");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().text, HasSubstr("does not end within 2 s"));
    EXPECT_EQ(pid_of(daemon), pid);
    ASSERT_TRUE(daemon.kill(pid));
    EXPECT_EQ(pid_of(daemon), std::nullopt);
    EXPECT_TRUE(daemon.kill(pid)) << "it is gone";
}

TEST_F(VendorControlDaemonTest, EndsByItsCommand) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    ASSERT_TRUE(daemon.open());
    ASSERT_TRUE(daemon.execute("quit -t 5"));
    wait_until([&] { return !pid_of(daemon); });
    daemon.close();
    ASSERT_TRUE(daemon.clear());
    EXPECT_THAT(names_in(paths().pipes()), ElementsAre("control_lock"));
    EXPECT_THAT(names_in(paths().tenants()), testing::IsEmpty());
}

TEST_F(VendorControlDaemonTest, SaysWhyItDoesNotStart) {
    const auto missing = find_mps_programs("/nonexistent", folder_ / "libraries");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().text, HasSubstr("/nonexistent/usr/bin, /nonexistent/usr/sbin"));
    programs_.control = "/bin/false";
    const auto ended = made().start();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().text, "MPS's control daemon ended as it started: no output");
    fs::remove_all(folder_ / "GPU-0");
    ASSERT_TRUE(write_text_file((folder_ / "GPU-0").string(), "a file"));
    EXPECT_THAT(made().start().error().text, HasSubstr("GPU-0"));
    fs::remove(folder_ / "GPU-0");
}

TEST(BoundedLog, EmptiesWhatIsTooLong) {
    std::string name = (fs::temp_directory_path() / "tessera-log.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const fs::path folder(name);
    ASSERT_TRUE(write_text_file(folder / "long.log", std::string(kMostLogBytes + 5'000, 'x')));
    ASSERT_TRUE(write_text_file(folder / "short.log", "one\ntwo\n\n"));
    ASSERT_TRUE(write_text_file(folder / "other", std::string(kMostLogBytes + 5'000, 'x')));
    keep_logs_small(folder);
    EXPECT_EQ(fs::file_size(folder / "long.log"), 0);
    EXPECT_EQ(fs::file_size(folder / "long.log.1"), kMostLogBytes + 5'000);
    EXPECT_EQ(written_since(folder / "short.log", 0), "one | two");
    EXPECT_EQ(written_since(folder / "short.log", 4), "two");
    EXPECT_EQ(written_since(folder / "long.log", 0), "no output");
    EXPECT_EQ(written_since(folder / "other", 0).size(), 400);
    EXPECT_EQ(fs::file_size(folder / "other"), kMostLogBytes + 5'000);
    fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera
