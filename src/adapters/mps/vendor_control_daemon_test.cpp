// The programs are gpusim's, or those under $TESSERA_MPS_ROOT: `./dev check mps` sets it to the
// vendor's, one driver after the other.
#include "adapters/mps/vendor_control_daemon.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "adapters/mps/bounded_log.hpp"
#include "adapters/os/text_file.hpp"
#include "app/mps/control_supervisor.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_control_daemon.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::UnorderedElementsAre;

// Names of the files of a folder.
std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const fs::path& path : paths_in(folder))
        names.push_back(path.filename());
    return names;
}

class VendorControlDaemonTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tessera-mps.XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        const char* root = std::getenv("TESSERA_MPS_ROOT");
        auto programs = find_mps_programs(root != nullptr ? root : node_.root().string());
        ASSERT_TRUE(programs) << programs.error().text;
        programs_ = *programs;
    }
    void TearDown() override {
        VendorControlDaemon daemon = made();
        if (const auto pid = daemon.pid()) (void)daemon.kill(*pid);
        reap();
        fs::remove_all(folder_);
    }
    [[nodiscard]] VendorControlDaemon made() const {
        return {GpuUuid(node_.gpus()[0].uuid), paths(), programs_};
    }
    [[nodiscard]] MpsPaths paths() const { return MpsPaths(folder_ / "GPU-0"); }
    // A daemon that another object started in this process, when its end was seen elsewhere.
    static void reap() {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
    // Waits for what takes a moment; the test's own time limit ends it otherwise.
    static void wait_until(const std::function<bool()>& is_so) {
        while (!is_so())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }

    gpusim::SimulatedNode node_{gpusim::kTwoGpus};
    fs::path folder_;
    VendorMpsPrograms programs_;
};

// Goal: a daemon takes commands when start() returns, and containers get only what clients need.
TEST_F(VendorControlDaemonTest, StartsAndOpens) {
    VendorControlDaemon daemon = made();
    EXPECT_EQ(daemon.pid(), std::nullopt);
    const auto started = daemon.start();
    ASSERT_TRUE(started) << started.error().text;
    ASSERT_TRUE(daemon.pid());
    EXPECT_EQ(daemon.ask("set_default_active_thread_percentage 25").value(), "25.0\n");
    EXPECT_EQ(daemon.ask("get_server_list").value(), "");
    EXPECT_THAT(names_in(paths().tenants()), testing::IsEmpty());
    EXPECT_FALSE(daemon.ask_as_tenant("get_server_list")) << "it is not open";
    ASSERT_TRUE(daemon.open());
    EXPECT_THAT(names_in(paths().tenants()), UnorderedElementsAre("control", "log"));
    EXPECT_EQ(daemon.ask_as_tenant("get_default_active_thread_percentage").value(), "25.0\n");
    EXPECT_THAT(daemon.ask_as_tenant("quit").value(), HasSubstr("Not enough privilege"));
    EXPECT_TRUE(daemon.pid());
    daemon.close();
    EXPECT_FALSE(daemon.ask_as_tenant("get_server_list"));
}

// Goal: a process that starts later finds the daemon, and it is the same one.
TEST_F(VendorControlDaemonTest, FindsARunningDaemon) {
    VendorControlDaemon first = made();
    ASSERT_TRUE(first.start());
    VendorControlDaemon second = made();
    EXPECT_EQ(second.pid(), first.pid());
    EXPECT_EQ(second.ask("get_default_active_thread_percentage").value(), "100.0\n");
    const auto again = second.start();
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().text, HasSubstr("already running"));
    EXPECT_EQ(second.pid(), first.pid()) << "it is unharmed";
}

// Goal: what a killed daemon leaves does not look like a daemon, and does not keep the next from
// starting.
TEST_F(VendorControlDaemonTest, StartsAfterAKill) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    ASSERT_TRUE(daemon.open());
    const std::int64_t pid = *daemon.pid();
    ASSERT_EQ(::kill(static_cast<pid_t>(pid), SIGKILL), 0);
    wait_until([&] { return !daemon.pid(); });
    EXPECT_TRUE(fs::exists(paths().pipes() / "control"));
    const auto answer = daemon.ask("get_server_list");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().text, HasSubstr("Cannot find MPS control daemon process"));
    ASSERT_TRUE(daemon.start());
    EXPECT_NE(*daemon.pid(), pid);
    EXPECT_FALSE(daemon.ask_as_tenant("get_server_list")) << "the socket of the dead daemon";
    ASSERT_TRUE(daemon.open());
    EXPECT_TRUE(daemon.ask_as_tenant("get_server_list"));
}

// Goal: a daemon that hangs holds nobody up for long, and can be ended.
TEST_F(VendorControlDaemonTest, EndsADaemonThatHangs) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    const std::int64_t pid = *daemon.pid();
    ASSERT_EQ(::kill(static_cast<pid_t>(pid), SIGSTOP), 0);
    const auto answer = daemon.ask("get_server_list");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().text, HasSubstr("does not end within 2 s"));
    EXPECT_EQ(daemon.pid(), pid);
    ASSERT_TRUE(daemon.kill(pid));
    EXPECT_EQ(daemon.pid(), std::nullopt);
    EXPECT_TRUE(daemon.kill(pid)) << "it is gone";
}

TEST_F(VendorControlDaemonTest, EndsByItsCommand) {
    VendorControlDaemon daemon = made();
    ASSERT_TRUE(daemon.start());
    ASSERT_TRUE(daemon.open());
    ASSERT_TRUE(daemon.ask("quit -t 5"));
    wait_until([&] { return !daemon.pid(); });
    daemon.close();
    daemon.clear();
    EXPECT_THAT(names_in(paths().pipes()), testing::IsEmpty());
    EXPECT_THAT(names_in(paths().tenants()), testing::IsEmpty());
}

TEST_F(VendorControlDaemonTest, SaysWhyItDoesNotStart) {
    const auto missing = find_mps_programs("/nonexistent");
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().text, HasSubstr("/nonexistent/usr/bin, /nonexistent/usr/sbin"));
    programs_.control = "/bin/false";
    const auto ended = made().start();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().text, "MPS's control daemon ended as it started: no output");
    fs::remove_all(folder_ / "GPU-0");
    ASSERT_TRUE(write_text_file((folder_ / "GPU-0").string(), "a file"));
    EXPECT_THAT(made().start().error().text, HasSubstr("GPU-0"));
}

// The life of a supervised daemon.
class SupervisedDaemonTest : public VendorControlDaemonTest {
  protected:
    MpsState look_until(ControlSupervisor& supervisor, MpsPhase phase) {
        MpsState state;
        wait_until([&] {
            clock_.advance(ControlSupervisor::kLook);
            state = supervisor.look(wanted_).value_or(MpsState{.phase = MpsPhase::stopping});
            return state.phase == phase;
        });
        return state;
    }

    FakeClock clock_;
    FakeComputeModes modes_;
    std::optional<MpsSettings> wanted_ = MpsSettings{.threads = {50}, .memory = gibibytes(3)};
};

// Goal: the supervisor keeps a daemon with its limits through everything that can happen to it.
TEST_F(SupervisedDaemonTest, IsKept) {
    VendorControlDaemon daemon = made();
    ControlSupervisor supervisor(GpuUuid("GPU-0"), daemon, modes_, clock_);
    const MpsState first = look_until(supervisor, MpsPhase::ready);
    EXPECT_EQ(first.settings, *wanted_);
    EXPECT_EQ(daemon.ask("get_default_device_pinned_mem_limit 0").value(), "3G\n");

    // Another supervisor, after ours was killed, changes nothing.
    VendorControlDaemon adopted = made();
    ControlSupervisor later(GpuUuid("GPU-0"), adopted, modes_, clock_);
    EXPECT_EQ(look_until(later, MpsPhase::ready).pid, first.pid);

    // Somebody changes a limit.
    ASSERT_TRUE(daemon.ask("set_default_active_thread_percentage 90"));
    wait_until([&] {
        look_until(supervisor, MpsPhase::ready);
        return daemon.ask("get_default_active_thread_percentage").value() == "50.0\n";
    });

    // The daemon is killed, and is ended by a signal that it handles.
    for (const int signal : {SIGKILL, SIGTERM}) {
        const std::int64_t pid = *daemon.pid();
        ASSERT_EQ(::kill(static_cast<pid_t>(pid), signal), 0);
        look_until(supervisor, MpsPhase::failed);
        EXPECT_NE(look_until(supervisor, MpsPhase::ready).pid, pid);
        EXPECT_EQ(daemon.ask("get_default_active_thread_percentage").value(), "50.0\n");
        EXPECT_TRUE(daemon.ask_as_tenant("get_server_list"));
    }

    // It is no longer wanted.
    wanted_.reset();
    wait_until([&] { return !supervisor.look(wanted_); });
    EXPECT_EQ(daemon.pid(), std::nullopt);
    EXPECT_THAT(names_in(paths().pipes()), testing::IsEmpty());
    EXPECT_EQ(modes_.mode, ComputeMode::shared);
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
