// The supervisor with real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>

#include "adapters/mps/control_daemon_fixture_test.hpp"
#include "adapters/os/descriptor.hpp"
#include "app/mps/control_supervisor.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_control_daemon.hpp"
#include "testing/fakes/fake_process_table.hpp"

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

    FakeProcessTable processes_;
    FakeClock clock_;
    FakeComputeModes modes_;
    std::optional<MpsSettings> wanted_ = MpsSettings{.threads = {50}, .memory = gibibytes(3)};
};

// Goal: the supervisor keeps a daemon with its limits through everything that can happen to it.
TEST_F(SupervisedDaemonTest, IsKept) {
    VendorControlDaemon daemon = made();
    ControlSupervisor supervisor(GpuUuid("GPU-0"), daemon, modes_, processes_, clock_, false);
    const MpsState first = look_until(supervisor, MpsPhase::ready);
    EXPECT_EQ(first.settings, *wanted_);
    EXPECT_EQ(daemon.execute("get_default_device_pinned_mem_limit 0").value(), "3G\n");

    // Another supervisor, after ours was killed, changes nothing.
    VendorControlDaemon adopted = made();
    ControlSupervisor later(GpuUuid("GPU-0"), adopted, modes_, processes_, clock_, false);
    EXPECT_EQ(look_until(later, MpsPhase::ready).pid, first.pid);

    // A limit is changed.
    ASSERT_TRUE(daemon.execute("set_default_active_thread_percentage 90"));
    wait_until([&] {
        look_until(supervisor, MpsPhase::ready);
        return daemon.execute("get_default_active_thread_percentage").value() == "50.0\n";
    });

    // The daemon is killed, and is ended by a signal that it handles.
    for (const int signal : {SIGKILL, SIGTERM}) {
        const std::int64_t pid = *pid_of(daemon);
        ASSERT_EQ(::kill(static_cast<pid_t>(pid), signal), 0);
        look_until(supervisor, MpsPhase::failed);
        EXPECT_NE(look_until(supervisor, MpsPhase::ready).pid, pid);
        EXPECT_EQ(daemon.execute("get_default_active_thread_percentage").value(), "50.0\n");
        EXPECT_TRUE(daemon.execute_as_tenant("get_server_list"));
    }

    // It is no longer wanted.
    wanted_.reset();
    wait_until([&] { return !supervisor.look(wanted_); });
    EXPECT_EQ(pid_of(daemon), std::nullopt);
    EXPECT_THAT(names_in(paths().pipes()), testing::ElementsAre("control_lock"));
    EXPECT_EQ(modes_.mode, ComputeMode::shared);
}

// Goal: a container that connects and says nothing, for which the vendor's daemons wait, does not
// keep the GPU from others for ever.
TEST_F(SupervisedDaemonTest, SurvivesASilentContainer) {
    VendorControlDaemon daemon = made();
    ControlSupervisor supervisor(GpuUuid("GPU-0"), daemon, modes_, processes_, clock_, false);
    look_until(supervisor, MpsPhase::ready);
    const Descriptor silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = paths().tenants() / "control";
    ASSERT_LT(path.size(), sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    if (::connect(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        GTEST_SKIP() << "gpusim's daemon listens for another kind of socket, and waits for no peer";
    for (int look = 0; look < 20; look++) {
        clock_.advance(ControlSupervisor::kLook);
        (void)supervisor.look(wanted_);
    }
    look_until(supervisor, MpsPhase::ready);
    EXPECT_EQ(daemon.execute("get_default_active_thread_percentage").value(), "50.0\n");
}

}  // namespace
}  // namespace tessera
