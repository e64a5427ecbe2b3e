// A folder with a control daemon, for tests. The programs are gpusim's, or those under
// $TESSERA_MPS_ROOT: `./dev check mps` sets it to the vendor's, one driver after the other.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/mps/vendor_control_daemon.hpp"
#include "adapters/os/text_file.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace tessera {

// Names of the files of a folder.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const std::filesystem::path& path : paths_in(folder))
        names.push_back(path.filename());
    return names;
}

class ControlDaemonFixture : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "tessera-mps.XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        const char* root = std::getenv("TESSERA_MPS_ROOT");
        auto programs = find_mps_programs(root != nullptr ? root : node_.root().string(),
                                          folder_ / "libraries");
        ASSERT_TRUE(programs) << programs.error().text;
        programs_ = *programs;
    }
    void TearDown() override {
        VendorControlDaemon daemon = made();
        if (const auto pid = pid_of(daemon)) (void)daemon.kill(*pid);
        reap();
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] VendorControlDaemon made() const {
        return {GpuUuid(node_.gpus()[0].uuid), paths(), programs_};
    }
    [[nodiscard]] MpsPaths paths() const { return MpsPaths(folder_ / "GPU-0"); }
    static std::optional<std::int64_t> pid_of(VendorControlDaemon& daemon) {
        const auto pid = daemon.pid();
        if (pid) return *pid;
        ADD_FAILURE() << pid.error().text;
        return std::nullopt;
    }
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
    std::filesystem::path folder_;
    VendorMpsPrograms programs_;
};

}  // namespace tessera
