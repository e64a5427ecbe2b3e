// tessera-mps as a process, with gpusim's driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "adapters/mps/mps_folder.hpp"
#include "adapters/mps/vendor_control_daemon.hpp"
#include "adapters/nvml/nvml_compute_modes.hpp"
#include "adapters/os/text_file.hpp"
#include "gpusim/test_support/simulated_node.hpp"
#include "programs/common/started_program_test.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class TesseraMpsTest : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may set a compute mode";
    }
    void TearDown() override {
        mps_.reset();
        for (const auto& gpu : node_.gpus()) {
            VendorControlDaemon daemon = daemon_of(GpuUuid(gpu.uuid));
            const auto pid = daemon.pid();
            if (pid && *pid) (void)daemon.kill(**pid);
        }
    }
    void start() {
        mps_.emplace("tessera-mps",
                     std::vector<std::string>{"--driver-root", node_.root().string(),
                                              "--mps-folder", files_.file("mps")},
                     files_.file("out"));
    }
    void want(const GpuUuid& gpu, const MpsSettings& settings) {
        const MpsPaths paths = folder_.paths(gpu);
        fs::create_directories(paths.folder);
        ASSERT_TRUE(write_text_file(paths.wanted(), write_mps_settings(settings)));
    }
    [[nodiscard]] VendorControlDaemon daemon_of(const GpuUuid& gpu) const {
        return {gpu, folder_.paths(gpu),
                find_mps_programs(node_.root().string(), files_.file("libraries")).value()};
    }
    // Waits for a state that is so; the test's time limit ends it otherwise.
    MpsState wait_for(const GpuUuid& gpu, const std::function<bool(const MpsState&)>& is_so) {
        while (true) {
            const auto text = read_text_file(folder_.paths(gpu).state());
            if (text) {
                const auto state = read_mps_state(*text);
                if (state && is_so(*state)) return *state;
            }
            pause();
        }
    }
    MpsState wait_for(const GpuUuid& gpu, MpsPhase phase) {
        return wait_for(gpu, [phase](const MpsState& state) { return state.phase == phase; });
    }
    static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    // The process that does the work: the child of the one that we started.
    [[nodiscard]] pid_t worker() const {
        const std::string pid = std::to_string(mps_->pid());
        std::ifstream in("/proc/" + pid + "/task/" + pid + "/children");
        pid_t child = 0;
        in >> child;
        return child;
    }

    Folder files_;
    gpusim::SimulatedNode node_{gpusim::kTwoGpus};
    MpsFolder folder_{files_.file("mps")};
    const GpuUuid first_{node_.gpus()[0].uuid};
    const GpuUuid second_{node_.gpus()[1].uuid};
    const MpsSettings settings_{.threads = {50}, .memory = gibibytes(3)};
    std::optional<Program> mps_;
};

// Goal: each GPU has a daemon of its own, and one that ends does not disturb the other.
TEST_F(TesseraMpsTest, SupervisesEachGpu) {
    start();
    want(first_, settings_);
    want(second_, {.threads = {75}, .memory = gibibytes(5)});
    const MpsState first = wait_for(first_, MpsPhase::ready);
    const MpsState second = wait_for(second_, MpsPhase::ready);
    EXPECT_NE(first.pid, second.pid);
    EXPECT_EQ(first.settings, settings_);
    EXPECT_EQ(second.settings.threads, Percent{75});
    ASSERT_EQ(::kill(static_cast<pid_t>(first.pid), SIGKILL), 0);
    const MpsState again = wait_for(first_, [&](const MpsState& state) {
        return state.phase == MpsPhase::ready && state.pid != first.pid;
    });
    EXPECT_EQ(again.failures, 1);
    EXPECT_EQ(daemon_of(second_).pid().value(), second.pid);
    fs::remove(folder_.paths(first_).wanted());
    while (fs::exists(folder_.paths(first_).state()))
        pause();
    EXPECT_EQ(daemon_of(first_).pid().value(), std::nullopt);
    EXPECT_FALSE(fs::exists(folder_.paths(first_).pipes()));
    EXPECT_EQ(daemon_of(second_).pid().value(), second.pid);
}

// Goal: after SIGTERM the GPUs admit all programs, and the agent can see that. The next one starts
// MPS again where it is wanted.
TEST_F(TesseraMpsTest, EndsTheDaemonsOnSigterm) {
    start();
    want(first_, settings_);
    const MpsState before = wait_for(first_, MpsPhase::ready);
    const auto modes = nvml_compute_modes(node_.root().string(), "");
    EXPECT_EQ(modes->get(first_).value(), ComputeMode::exclusive);
    mps_->terminate();
    EXPECT_EQ(mps_->wait(), 0);
    EXPECT_EQ(daemon_of(first_).pid().value(), std::nullopt);
    EXPECT_EQ(modes->get(first_).value(), ComputeMode::shared);
    const MpsState ended = wait_for(first_, MpsPhase::failed);
    EXPECT_EQ(ended.pid, 0);
    EXPECT_THAT(ended.reason, HasSubstr("tessera-mps was ended"));
    start();
    const MpsState after = wait_for(first_, MpsPhase::ready);
    EXPECT_NE(after.pid, before.pid);
    EXPECT_EQ(modes->get(first_).value(), ComputeMode::exclusive);
    // Nothing is left of a GPU that is no longer wanted at the next end.
    fs::remove(folder_.paths(first_).wanted());
    mps_->terminate();
    EXPECT_EQ(mps_->wait(), 0);
    EXPECT_FALSE(fs::exists(folder_.paths(first_).pipes()));
}

// Goal: when the supervisor is killed, tenants keep their daemon, and it is supervised again.
TEST_F(TesseraMpsTest, AdoptsAfterAKill) {
    start();
    want(first_, settings_);
    const MpsState before = wait_for(first_, MpsPhase::ready);
    const pid_t killed = worker();
    ASSERT_GT(killed, 0);
    ASSERT_EQ(::kill(killed, SIGKILL), 0);
    want(first_, {.threads = {60}, .memory = gibibytes(3)});
    const MpsState after = wait_for(first_, [](const MpsState& state) {
        return state.phase == MpsPhase::ready && state.settings.threads == Percent{60};
    });
    EXPECT_EQ(after.pid, before.pid);
    EXPECT_NE(worker(), killed);
    // The whole program. In a container the runtime would end the daemon, too.
    ASSERT_EQ(::kill(mps_->pid(), SIGKILL), 0);
    EXPECT_NE(mps_->wait(), 0);
    start();
    want(first_, settings_);
    const MpsState later = wait_for(first_, [&](const MpsState& state) {
        return state.phase == MpsPhase::ready && state.settings == settings_;
    });
    EXPECT_EQ(later.pid, before.pid);
}

// Goal: a file that cannot be read is reported, and changes nothing.
TEST_F(TesseraMpsTest, KeepsADaemonWhoseSettingsAreBroken) {
    start();
    want(first_, settings_);
    const MpsState before = wait_for(first_, MpsPhase::ready);
    ASSERT_TRUE(write_text_file(folder_.paths(first_).wanted(), "{\"version\":2}"));
    const auto is_reported = [](const MpsState& state) {
        return state.reason.find("version: 2 is of a newer release") != std::string::npos;
    };
    const MpsState kept = wait_for(first_, is_reported);
    EXPECT_EQ(kept.phase, MpsPhase::ready);
    EXPECT_EQ(kept.pid, before.pid);
    // A later supervisor does not know what was wanted.
    ASSERT_EQ(::kill(worker(), SIGKILL), 0);
    const MpsState unknown = wait_for(first_, [&](const MpsState& state) {
        return is_reported(state) && state.phase == MpsPhase::failed;
    });
    EXPECT_EQ(unknown.pid, before.pid);
    want(first_, settings_);
    EXPECT_EQ(wait_for(first_, MpsPhase::ready).pid, before.pid);
}

TEST_F(TesseraMpsTest, NeedsTheDriversPrograms) {
    Program none("tessera-mps",
                 {"--driver-root", files_.file("nothing"), "--mps-folder", files_.file("mps")},
                 files_.file("out"));
    while (none.output().find("no nvidia-cuda-mps-control in") == std::string::npos)
        pause();
    EXPECT_THAT(none.output(), HasSubstr("install the part of NVIDIA's driver with MPS"));
    none.terminate();
    EXPECT_NE(none.wait(), 0);
}

}  // namespace
}  // namespace tessera
