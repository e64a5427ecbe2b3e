// The supervisor with real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "adapters/mps/control_daemon_fixture_test.hpp"
#include "app/mps/control_supervisor.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_control_daemon.hpp"

namespace tessera {
namespace {

// The life of a supervised daemon.
class SupervisedDaemonTest : public ControlDaemonFixture {
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
    EXPECT_EQ(daemon.execute("get_default_device_pinned_mem_limit 0").value(), "3G\n");

    // Another supervisor, after ours was killed, changes nothing.
    VendorControlDaemon adopted = made();
    ControlSupervisor later(GpuUuid("GPU-0"), adopted, modes_, clock_);
    EXPECT_EQ(look_until(later, MpsPhase::ready).pid, first.pid);

    // A limit is changed.
    ASSERT_TRUE(daemon.execute("set_default_active_thread_percentage 90"));
    wait_until([&] {
        look_until(supervisor, MpsPhase::ready);
        return daemon.execute("get_default_active_thread_percentage").value() == "50.0\n";
    });

    // The daemon is killed, and is ended by a signal that it handles.
    for (const int signal : {SIGKILL, SIGTERM}) {
        const std::int64_t pid = *daemon.pid();
        ASSERT_EQ(::kill(static_cast<pid_t>(pid), signal), 0);
        look_until(supervisor, MpsPhase::failed);
        EXPECT_NE(look_until(supervisor, MpsPhase::ready).pid, pid);
        EXPECT_EQ(daemon.execute("get_default_active_thread_percentage").value(), "50.0\n");
        EXPECT_TRUE(daemon.execute_as_tenant("get_server_list"));
    }

    // It is no longer wanted.
    wanted_.reset();
    wait_until([&] { return !supervisor.look(wanted_); });
    EXPECT_EQ(daemon.pid(), std::nullopt);
    EXPECT_THAT(names_in(paths().pipes()), testing::IsEmpty());
    EXPECT_EQ(modes_.mode, ComputeMode::shared);
}

}  // namespace
}  // namespace tessera
