#include "app/mps/control_supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_control_daemon.hpp"
#include "testing/fakes/fake_process_table.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ControlSupervisorTest : public testing::Test {
  protected:
    // In the phase `starting` the next look is due at once.
    std::optional<MpsState> look() {
        auto state = supervisor_.look(wanted_);
        if (state && state->phase == MpsPhase::starting) state = supervisor_.look(wanted_);
        return state;
    }
    // The daemon is no longer wanted, which is written down, and it is sent `quit`.
    void end() {
        wanted_.reset();
        look();
        look();
    }
    // Looks once a second, until the state is this or too much time has passed.
    MpsState look_until(MpsPhase phase, int most = 200) {
        MpsState state;
        for (int i = 0; i < most; i++) {
            state = look().value_or(MpsState{});
            if (state.phase == phase) return state;
            clock_.advance(ControlSupervisor::kLook);
        }
        ADD_FAILURE() << "not within " << most << " s; " << state.reason;
        return state;
    }
    void pass(seconds time) {
        for (seconds i{0}; i < time; i += ControlSupervisor::kLook) {
            clock_.advance(ControlSupervisor::kLook);
            look();
        }
    }

    FakeClock clock_;
    FakeControlDaemon daemon_;
    FakeComputeModes modes_;
    std::optional<MpsSettings> wanted_ = MpsSettings{.threads = {50}, .memory = gibibytes(3)};
    FakeProcessTable processes_;
    ControlSupervisor supervisor_{GpuUuid("GPU-0"), daemon_, modes_, processes_, clock_, false};
};

// Goal: clients can connect only when the GPU admits MPS alone and all limits were read back.
TEST_F(ControlSupervisorTest, StartsADaemonWithItsLimits) {
    const auto state = look();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->phase, MpsPhase::ready) << state->reason;
    EXPECT_EQ(state->gpu, GpuUuid("GPU-0"));
    EXPECT_EQ(state->pid, 101);
    EXPECT_EQ(state->settings, *wanted_);
    EXPECT_TRUE(state->protects_settings);
    EXPECT_EQ(state->failures, 0);
    EXPECT_EQ(state->checked_unix_ns, clock_.unix_ns());
    EXPECT_EQ(daemon_.defaults.threads, "50.0");
    EXPECT_EQ(daemon_.defaults.memory, "3072M");
    EXPECT_TRUE(daemon_.is_open);
    EXPECT_EQ(modes_.mode, ComputeMode::exclusive);
}

// Goal: a supervisor that starts again changes nothing of a daemon that is right.
TEST_F(ControlSupervisorTest, AdoptsADaemon) {
    daemon_.running = 7;
    daemon_.defaults = {.threads = "50.0", .memory = "3072M"};
    daemon_.servers["8"] = daemon_.defaults;
    modes_.mode = ComputeMode::exclusive;
    const auto state = look();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->phase, MpsPhase::ready) << state->reason;
    EXPECT_EQ(state->pid, 7);
    EXPECT_EQ(daemon_.starts, 0);
    EXPECT_EQ(daemon_.clears, 0);
    EXPECT_THAT(daemon_.asked, Not(Contains(HasSubstr("set_default_active"))));
    EXPECT_EQ(daemon_.servers["8"].memory, "3072M");
}

// Goal: a limit that only looks like the right one, because the daemon rounds it, is corrected.
TEST_F(ControlSupervisorTest, SetsMemoryThatIsShownRounded) {
    wanted_ = MpsSettings{.threads = {50}, .memory = mebibytes(1500)};
    daemon_.running = 7;
    daemon_.defaults = {.threads = "50.0", .memory = "2000M"};
    daemon_.servers["8"] = daemon_.defaults;
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_EQ(daemon_.defaults.memory, "1500M");
    EXPECT_EQ(daemon_.servers["8"].memory, "1500M");
    daemon_.defaults.memory = "1999M";  // shown as before
    pass(ControlSupervisor::kVerify);
    EXPECT_EQ(daemon_.defaults.memory, "1500M");
    EXPECT_EQ(look()->settings.memory, mebibytes(1500));
}

// Goal: limits that were changed are set again within 5 seconds, also those of servers.
TEST_F(ControlSupervisorTest, RestoresLimits) {
    look();
    daemon_.defaults = {.threads = "90.0", .memory = "15G"};
    daemon_.servers["8"] = {.threads = "100.0", .memory = ""};
    pass(ControlSupervisor::kVerify);
    EXPECT_EQ(daemon_.defaults.threads, "50.0");
    EXPECT_EQ(daemon_.defaults.memory, "3072M");
    EXPECT_EQ(daemon_.servers["8"].threads, "50.0");
    EXPECT_EQ(daemon_.servers["8"].memory, "3072M");
}

TEST_F(ControlSupervisorTest, AppliesNewSettingsAtOnce) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    wanted_ = MpsSettings{.threads = {75}, .memory = {gibibytes(5).count + 1}};
    const auto state = look();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->settings, (MpsSettings{.threads = {75}, .memory = gibibytes(5)}));
    EXPECT_EQ(daemon_.defaults.threads, "75.0");
    EXPECT_EQ(daemon_.servers["8"].memory, "5120M");
}

// Goal: a daemon that ignores a setting, as the vendor's does without a message, gets no clients.
TEST_F(ControlSupervisorTest, ClosesADaemonThatIgnoresSettings) {
    daemon_.ignores_settings = true;
    auto state = look();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->phase, MpsPhase::failed);
    EXPECT_EQ(state->reason,
              "MPS's control daemon does not take 50 % of the GPU's threads as "
              "default; daemon.log in its folder logs says why");
    EXPECT_FALSE(daemon_.is_open);
    pass(seconds(60));
    EXPECT_THAT(daemon_.killed, IsEmpty()) << "it answers";
    daemon_.ignores_settings = false;
    EXPECT_EQ(look_until(MpsPhase::ready).failures, 0);
    EXPECT_TRUE(daemon_.is_open);
}

TEST_F(ControlSupervisorTest, ReportsADaemonThatTenantsCanChange) {
    daemon_.protects = false;
    EXPECT_FALSE(look()->protects_settings);
    EXPECT_EQ(look()->phase, MpsPhase::ready);
}

// Goal: a daemon that ended is started again, with growing pauses while it keeps ending.
TEST_F(ControlSupervisorTest, RestartsADaemonThatEnded) {
    look();
    daemon_.running = 0;
    const auto state = look();
    EXPECT_EQ(state->phase, MpsPhase::failed);
    EXPECT_EQ(state->pid, 0);
    EXPECT_EQ(state->reason, "MPS's control daemon ended; it is started again in 1 s");
    EXPECT_FALSE(daemon_.is_open);
    const MpsState again = look_until(MpsPhase::ready);
    EXPECT_EQ(again.pid, 102);
    EXPECT_EQ(again.failures, 1);
    daemon_.running = 0;
    EXPECT_THAT(look()->reason, HasSubstr("in 2 s"));
    look_until(MpsPhase::ready);
    pass(ControlSupervisor::kStable);
    daemon_.running = 0;
    EXPECT_THAT(look()->reason, HasSubstr("in 1 s")) << "it was stable";
}

TEST_F(ControlSupervisorTest, PausesAreBounded) {
    daemon_.start_error = "no such program";
    look();
    pass(seconds(1'000));
    EXPECT_EQ(look()->reason, "no such program; it is started again in 60 s");
    const int starts = daemon_.starts;
    pass(ControlSupervisor::kLongestPause);
    EXPECT_EQ(daemon_.starts, starts + 1);
}

// Goal: a daemon that hangs is killed after three questions, and not before.
TEST_F(ControlSupervisorTest, KillsADaemonThatHangs) {
    look();
    daemon_.hangs = true;
    clock_.advance(ControlSupervisor::kVerify);
    EXPECT_EQ(look()->phase, MpsPhase::failed);
    EXPECT_FALSE(daemon_.is_open);
    look();
    EXPECT_THAT(daemon_.killed, IsEmpty());
    look();
    EXPECT_THAT(daemon_.killed, ElementsAre(101));
    EXPECT_EQ(look_until(MpsPhase::ready).pid, 102);
    daemon_.hangs = true;
    clock_.advance(ControlSupervisor::kVerify);
    look();
    look();
    daemon_.hangs = false;
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_THAT(daemon_.killed, ElementsAre(101)) << "it answered in time";
}

// Goal: programs that are connected need the daemon no more, and any container can make it wait. So
// it is not killed while programs may use the GPU.
TEST_F(ControlSupervisorTest, KeepsASilentDaemonThatHasServers) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.hangs = true;
    pass(seconds(600));
    EXPECT_THAT(daemon_.killed, IsEmpty());
    EXPECT_FALSE(daemon_.is_open);
    EXPECT_THAT(look()->reason, HasSubstr("end the pods of this GPU that do not compute"));
    daemon_.hangs = false;
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_TRUE(daemon_.is_open);
}

// Goal: that our own process cannot ask, for want of memory or a file, says nothing of the daemon.
TEST_F(ControlSupervisorTest, OwnTroubleKillsNoDaemon) {
    look();
    daemon_.execute_error = Error{Code::conflict, "Resource temporarily unavailable"};
    pass(seconds(600));
    EXPECT_THAT(daemon_.killed, IsEmpty());
    EXPECT_EQ(look()->reason, "Resource temporarily unavailable");
    daemon_.execute_error.reset();
    look_until(MpsPhase::ready);
    EXPECT_EQ(daemon_.starts, 1);
}

// Goal: when it cannot be known which process is the daemon, none is started, and none is ended.
TEST_F(ControlSupervisorTest, DoesNothingWithoutKnowingTheDaemon) {
    look();
    daemon_.pid_error = Error{Code::conflict, "give its pod hostPID"};
    pass(seconds(60));
    EXPECT_EQ(look()->phase, MpsPhase::failed);
    EXPECT_EQ(look()->reason, "give its pod hostPID");
    EXPECT_FALSE(daemon_.is_open) << "its limits cannot be verified";
    daemon_.pid_error.reset();
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_TRUE(daemon_.is_open);
    daemon_.pid_error = Error{Code::conflict, "give its pod hostPID"};
    wanted_.reset();
    pass(seconds(60));
    EXPECT_THAT(daemon_.killed, IsEmpty());
    EXPECT_EQ(daemon_.starts, 1);
    EXPECT_EQ(daemon_.clears, 1);
}

// Goal: a server that starts does not close the GPU, and one that stays without limits does.
TEST_F(ControlSupervisorTest, WaitsForAServerThatStarts) {
    look();
    daemon_.servers["8"] = {.threads = "100.0", .memory = "", .status = "INITIALIZING"};
    pass(ControlSupervisor::kVerify);
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    daemon_.servers["8"].status = "ACTIVE";
    pass(seconds(1));
    EXPECT_EQ(daemon_.servers["8"].threads, "50.0");
    daemon_.servers["9"] = {.threads = "100.0", .memory = "", .status = "INITIALIZING"};
    look_until(MpsPhase::failed);
    EXPECT_FALSE(daemon_.is_open);
}

// Goal: a server that has started and does not take its limits closes the GPU, whatever the others
// do.
TEST_F(ControlSupervisorTest, ClosesAGpuWhoseServerIgnoresLimits) {
    look();
    daemon_.ignores_settings = true;
    daemon_.servers["8"] = {.threads = "50.0", .memory = "3072M", .status = "INITIALIZING"};
    daemon_.servers["9"] = {.threads = "100.0", .memory = ""};
    clock_.advance(ControlSupervisor::kVerify);
    const auto state = look();
    EXPECT_EQ(state->phase, MpsPhase::failed);
    EXPECT_THAT(state->reason, HasSubstr("for the server 9"));
    EXPECT_FALSE(daemon_.is_open);
}

// Goal: a daemon that took the place of another between two looks has nothing of its limits.
TEST_F(ControlSupervisorTest, VerifiesADaemonThatWasExchanged) {
    look();
    daemon_.running = 55;
    daemon_.defaults = {};
    const auto state = look();
    EXPECT_EQ(state->pid, 55);
    EXPECT_EQ(state->phase, MpsPhase::ready);
    EXPECT_EQ(daemon_.defaults.threads, "50.0");
    daemon_.running = 56;
    daemon_.ignores_settings = true;
    daemon_.defaults = {};
    EXPECT_EQ(look()->phase, MpsPhase::failed);
    EXPECT_FALSE(daemon_.is_open);
}

// Goal: a daemon that another program starts meanwhile is adopted at once.
TEST_F(ControlSupervisorTest, AdoptsADaemonThatAppearsDuringTheStart) {
    EXPECT_EQ(supervisor_.look(wanted_)->phase, MpsPhase::starting);
    daemon_.running = 55;
    EXPECT_EQ(supervisor_.look(wanted_)->phase, MpsPhase::ready);
    EXPECT_EQ(daemon_.starts, 0);
    daemon_.running = 0;
    supervisor_.look(wanted_);
    clock_.advance(seconds(1));
    EXPECT_EQ(supervisor_.look(wanted_)->phase, MpsPhase::starting) << "it is announced again";
}

TEST_F(ControlSupervisorTest, ReportsAServerWithAFault) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["8"].status = "FAULT";
    const MpsState state = look_until(MpsPhase::failed);
    EXPECT_THAT(state.reason, HasSubstr("the MPS server 8 has had a fatal error"));
    EXPECT_FALSE(daemon_.is_open);
    daemon_.servers.clear();
    look_until(MpsPhase::ready);
    EXPECT_THAT(daemon_.killed, IsEmpty());
}

TEST_F(ControlSupervisorTest, SaysThatItStarts) {
    EXPECT_EQ(supervisor_.look(wanted_)->phase, MpsPhase::starting);
    EXPECT_EQ(daemon_.starts, 0);
    EXPECT_EQ(supervisor_.look(wanted_)->phase, MpsPhase::ready);
}

TEST_F(ControlSupervisorTest, ObservesWithoutAChange) {
    daemon_.running = 7;
    daemon_.is_open = true;  // by an earlier supervisor; its limits are not verified
    const MpsState state = supervisor_.observe();
    EXPECT_EQ(state.gpu, GpuUuid("GPU-0"));
    EXPECT_EQ(state.pid, 7);
    EXPECT_THAT(daemon_.asked, IsEmpty());
    EXPECT_FALSE(daemon_.is_open);
}

TEST_F(ControlSupervisorTest, LeavesAProhibitedGpu) {
    modes_.mode = ComputeMode::prohibited;
    EXPECT_THAT(look()->reason, HasSubstr("nvidia-smi -i GPU-0 -c DEFAULT"));
    EXPECT_EQ(modes_.mode, ComputeMode::prohibited);
    EXPECT_EQ(daemon_.starts, 0);
    wanted_.reset();
    EXPECT_EQ(look(), std::nullopt);
    EXPECT_EQ(modes_.mode, ComputeMode::prohibited);
}

// Goal: on a GPU whose mode cannot be set, a program could run beside MPS, so nothing starts.
TEST_F(ControlSupervisorTest, NeedsTheComputeMode) {
    modes_.error = Error{Code::permission_denied, "NVML: no permission"};
    EXPECT_EQ(look()->reason, "NVML: no permission; it is started again in 1 s");
    EXPECT_EQ(daemon_.starts, 0);
    modes_.error.reset();
    modes_.ignores = true;
    clock_.advance(seconds(1));
    EXPECT_THAT(look()->reason, HasSubstr("does not keep the compute mode EXCLUSIVE_PROCESS"));
    modes_.ignores = false;
    look_until(MpsPhase::ready);
    modes_.mode = ComputeMode::shared;
    pass(ControlSupervisor::kVerify);
    EXPECT_EQ(modes_.mode, ComputeMode::exclusive) << "it was reset";
}

// Goal: nothing is left of a daemon that is no longer wanted, and the GPU admits all programs.
TEST_F(ControlSupervisorTest, Stops) {
    look();
    wanted_.reset();
    EXPECT_EQ(look()->phase, MpsPhase::stopping);
    EXPECT_FALSE(daemon_.is_open);
    EXPECT_NE(daemon_.running, 0) << "the state is written before it ends";
    EXPECT_EQ(look()->phase, MpsPhase::stopping);
    EXPECT_EQ(look(), std::nullopt);
    EXPECT_EQ(modes_.mode, ComputeMode::shared);
    EXPECT_EQ(daemon_.clears, 2);
    EXPECT_THAT(daemon_.killed, IsEmpty());
}

TEST_F(ControlSupervisorTest, KillsADaemonThatDoesNotStop) {
    look();
    daemon_.ignores_quit = true;
    end();
    pass(ControlSupervisor::kQuit);
    EXPECT_THAT(daemon_.killed, ElementsAre(101));
    EXPECT_EQ(look(), std::nullopt);
}

TEST_F(ControlSupervisorTest, RestoresTheModeOfAGpuThatIsGone) {
    look();
    end();
    modes_.error = Error{Code::unavailable, "driver"};
    EXPECT_EQ(look()->reason, "driver");
    modes_.error = Error{Code::not_found, "no GPU"};
    EXPECT_EQ(look(), std::nullopt);
}

// Goal: a pod that arrives while the daemon quits gets another daemon, and not one that will end.
TEST_F(ControlSupervisorTest, IsWantedAgainWhileItStops) {
    look();
    daemon_.ignores_quit = true;
    const auto wanted = std::exchange(wanted_, std::nullopt);
    look();
    look();
    wanted_ = wanted;
    EXPECT_EQ(look()->phase, MpsPhase::stopping);
    EXPECT_FALSE(daemon_.is_open);
    daemon_.running = 0;  // now it has ended
    const auto state = look();
    EXPECT_EQ(state->phase, MpsPhase::ready);
    EXPECT_EQ(state->pid, 102);
    EXPECT_EQ(state->failures, 0);
}

// Goal: a pod that arrives before the daemon quits keeps it.
TEST_F(ControlSupervisorTest, IsWantedAgainBeforeItStops) {
    look();
    const auto wanted = std::exchange(wanted_, std::nullopt);
    EXPECT_EQ(look()->phase, MpsPhase::stopping);
    wanted_ = wanted;
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_EQ(look()->pid, 101);
    EXPECT_TRUE(daemon_.is_open);
}

// Goal: a server that cannot be ended keeps the GPU, so its mode stays.
TEST_F(ControlSupervisorTest, StopsOnlyWhenServersAreGone) {
    look();
    end();
    daemon_.clear_error = Error{Code::unavailable, "the MPS server 8 does not end"};
    EXPECT_EQ(look()->reason, "the MPS server 8 does not end");
    EXPECT_EQ(modes_.mode, ComputeMode::exclusive);
    daemon_.clear_error.reset();
    EXPECT_EQ(look(), std::nullopt);
    EXPECT_EQ(modes_.mode, ComputeMode::shared);
}

// Goal: the state names the clients and their pods, and each process with a fatal error, also after
// that process has ended.
TEST_F(ControlSupervisorTest, NamesClientsAndFaults) {
    EXPECT_THAT(look()->servers, IsEmpty());
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["8"].clients = {20, 21};
    processes_.pods = {{20, PodUid("a")}};
    auto state = look();
    ASSERT_EQ(state->servers.size(), 1U);
    EXPECT_EQ(state->servers[0],
              (MpsServer{.pid = 8, .clients = {{.pid = 20, .pod = PodUid("a")}, {.pid = 21}}}));
    processes_.pods.clear();
    daemon_.servers["8"].clients.clear();
    daemon_.faulted = {20, 99};
    clock_.advance(ControlSupervisor::kLook);
    state = look();
    ASSERT_EQ(state->faults.size(), 2U);
    EXPECT_EQ(state->faults[0].client, (MpsClient{.pid = 20, .pod = PodUid("a")}));
    EXPECT_EQ(state->faults[1].client, (MpsClient{.pid = 99}));
    EXPECT_LT(state->faults[0].unix_ns, state->faults[1].unix_ns);
    for (int i = 0; i < 40; i++) {
        daemon_.faulted = {i + 100};
        clock_.advance(ControlSupervisor::kLook);
        state = look();
    }
    EXPECT_EQ(state->faults.size(), MpsState::kMostFaults);
    EXPECT_EQ(state->faults.back().client.pid, 139);
}

// Goal: a program cannot have another one blamed by a line in the log: the server of that one must
// have an error, and no other pod may be named for it.
TEST_F(ControlSupervisorTest, ConfirmsFaults) {
    look();
    processes_.pods = {{20, PodUid("a")}, {21, PodUid("b")}};
    const auto fault = [&](const char* server, const char* status,
                           std::vector<std::int64_t> named) {
        daemon_.servers[server] = daemon_.defaults;
        daemon_.servers[server].clients = {20, 21, 22};
        clock_.advance(ControlSupervisor::kLook);
        look();
        if (status == nullptr) {
            daemon_.servers.clear();
        } else if (status == std::string_view("EMPTY")) {
            daemon_.servers[server].clients = {23};
        } else {
            daemon_.servers[server].status = status;
        }
        daemon_.faulted = std::move(named);
        clock_.advance(ControlSupervisor::kLook);
        const auto state = look();
        daemon_.servers.clear();
        return state->faults.back().is_confirmed;
    };
    EXPECT_TRUE(fault("8", "FAULT", {20}));
    EXPECT_FALSE(fault("8", "FAULT", {21})) << "this server had its fault";
    EXPECT_TRUE(fault("9", nullptr, {20})) << "the server has ended";
    EXPECT_FALSE(fault("10", "ACTIVE", {20}));
    EXPECT_TRUE(fault("14", "EMPTY", {20})) << "all of its clients have left";
    EXPECT_FALSE(fault("11", "FAULT", {20, 21})) << "two pods are named";
    EXPECT_TRUE(fault("12", "FAULT", {22})) << "of an unknown pod";
    EXPECT_FALSE(fault("13", "FAULT", {99})) << "it is no client";
    EXPECT_FALSE(fault("15", "Unknown command", {20})) << "the driver 535, and no client has left";
}

// Goal: programs that do not end after the fatal error of another keep the GPU only for seconds.
TEST_F(ControlSupervisorTest, EndsAServerWithAFatalError) {
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["8"].clients = {20};
    look();
    daemon_.servers["8"].status = "FAULT";
    daemon_.faulted = {20};
    clock_.advance(ControlSupervisor::kLook);
    EXPECT_EQ(look()->phase, MpsPhase::failed) << "as soon as the fault is known";
    EXPECT_FALSE(daemon_.is_open);
    EXPECT_THAT(daemon_.ended_servers, IsEmpty());
    const auto from = clock_.steady();
    const auto state = look_until(MpsPhase::ready, 20);
    EXPECT_LE(clock_.steady() - from, ControlSupervisor::kFaulted + seconds(2));
    EXPECT_THAT(daemon_.ended_servers, ElementsAre(8));
    EXPECT_TRUE(state.reason.empty());
    EXPECT_EQ(look()->servers_lost, 1);
}

// Goal: a line that a container had written ends no server.
TEST_F(ControlSupervisorTest, AForgedFaultEndsNoServer) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["8"].clients = {20};
    look();
    daemon_.faulted = {20, 20, 20};
    pass(ControlSupervisor::kFaulted + seconds(5));
    EXPECT_THAT(daemon_.ended_servers, IsEmpty());
    EXPECT_EQ(look()->phase, MpsPhase::ready);
    EXPECT_EQ(look()->faults.size(), 1U);
    EXPECT_FALSE(look()->faults[0].is_confirmed);
}

// Goal: servers that end with clients are counted, and those without are not.
TEST_F(ControlSupervisorTest, CountsLostServers) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["9"] = daemon_.defaults;
    daemon_.servers["9"].clients = {20};
    clock_.advance(ControlSupervisor::kLook);
    look();
    daemon_.servers.clear();
    clock_.advance(ControlSupervisor::kLook);
    EXPECT_EQ(look()->servers_lost, 1);
    daemon_.servers["10"] = daemon_.defaults;
    daemon_.servers["10"].clients = {21};
    clock_.advance(ControlSupervisor::kLook);
    look();
    daemon_.running = 0;
    clock_.advance(ControlSupervisor::kLook);
    EXPECT_EQ(look()->servers_lost, 2);
}

// Goal: no program without MPS can take the GPU before the first client, or when a server has
// ended.
TEST_F(ControlSupervisorTest, AServerHoldsTheGpuBeforeClientsCanConnect) {
    ControlSupervisor holds(GpuUuid("GPU-0"), daemon_, modes_, processes_, clock_);
    daemon_.starts_servers = false;
    holds.look(wanted_);
    auto state = holds.look(wanted_);
    EXPECT_EQ(state->phase, MpsPhase::failed);
    EXPECT_THAT(state->reason, HasSubstr("no MPS server can start on the GPU"));
    EXPECT_FALSE(daemon_.is_open);
    daemon_.starts_servers = true;
    clock_.advance(ControlSupervisor::kVerify);
    EXPECT_EQ(holds.look(wanted_)->phase, MpsPhase::ready);
    EXPECT_EQ(daemon_.servers.size(), 1U);
    // The faulted server is ended, and another one has the GPU in the same look.
    daemon_.servers["501"].status = "FAULT";
    clock_.advance(ControlSupervisor::kVerify);
    EXPECT_EQ(holds.look(wanted_)->phase, MpsPhase::failed);
    clock_.advance(ControlSupervisor::kFaulted);
    EXPECT_EQ(holds.look(wanted_)->phase, MpsPhase::ready);
    EXPECT_THAT(daemon_.ended_servers, ElementsAre(501));
    EXPECT_TRUE(daemon_.servers.contains("502"));
}

// Goal: the driver 535 does not say that a server has had a fatal error.
TEST_F(ControlSupervisorTest, EndsAServerOfAnOldDriver) {
    look();
    daemon_.servers["8"] = daemon_.defaults;
    daemon_.servers["8"].clients = {20};
    look();
    daemon_.servers["8"].status = "Unknown command";
    daemon_.faulted = {20};
    pass(ControlSupervisor::kFaulted + seconds(1));
    EXPECT_THAT(daemon_.ended_servers, ElementsAre(8));
}

}  // namespace
}  // namespace tessera
