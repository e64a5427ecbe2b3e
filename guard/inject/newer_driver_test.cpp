// Goal: a driver that is newer than the guard works. Its new functions are its own and not
// enforced, and the functions that we hook are enforced as before. Method: a build of the simulated
// driver with unknown entry points, and a program that uses them, under the facade and under the
// preload.
#include <gtest/gtest.h>

#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::output_of;
using gpusim::SimulatedNode;

class GuardNewerDriver : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0}}};

    void SetUp() override {
        namespace fs = std::filesystem;
        fs::copy_file(fs::canonical(TESSERA_BINARY_DIR "/gpusim/newer/libcuda.so.1"),
                      node_.library("libcuda.so.1"), fs::copy_options::overwrite_existing);
    }
    static std::string run(const std::string& environment) {
        return output_of("env -i " + environment + " " TESSERA_BINARY_DIR "/bin/guard_newer 2>&1");
    }
};

constexpr char kSaid[] =
    "version 13050\n"
    "begun: 0\n"
    "in a context: 0\n"
    "cuMemAlloc 12080: the guard's\n"
    "cuMemAlloc 13050: cuMemAlloc_v3\n"
    "2 GiB as today: 2\n"
    "2 GiB as tomorrow: 0\n"
    "freed as today: 0\n"
    "1 GiB as today: 0\n"
    "cuLaunchKernel 12080: the guard's\n"
    "cuLaunchKernel 13050: cuLaunchKernel_v2\n"
    "launched as today: 0\n"
    "launched as tomorrow: 0\n"
    "waited for: 0\n"
    "cuTomorrowDo 13050: cuTomorrowDo\n"
    "answer 42\n"
    "answer 42\n";

TEST_F(GuardNewerDriver, WorksBehindTheFacade) {
    EXPECT_EQ(run("LD_LIBRARY_PATH=" + container_.facade().parent_path().string()), kSaid);
}

TEST_F(GuardNewerDriver, WorksBehindThePreload) {
    EXPECT_EQ(run("LD_PRELOAD=" + container_.guard().string() +
                  " LD_LIBRARY_PATH=" + node_.library("libcuda.so.1").parent_path().string()),
              kSaid);
}

}  // namespace
}  // namespace tessera::guard
